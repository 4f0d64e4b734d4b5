"""The texts around a form, as lines: its title, the plan of a run, help, TOML, README."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tui_eval.config.draft import Draft
from tui_eval.config.fields import Field
from tui_eval.config.form import REQUIRED, Form
from tui_eval.config.options import MAY_BE_EMPTY
from tui_eval.errors import Fault
from tui_eval.text.dry_run_words import (
    cost_text,
    prompt_text,
    rollouts_text,
    spent_text,
    title_text,
)
from tui_eval.text.figures import list_price_text
from tui_eval.tui.base.look.ink import EMPTY, Line, Span
from tui_eval.tui.base.look.wrap import shown_lines

MOST_LINES = 400
LABEL = 10
APART = "\u00a0"
"""A space at which no line breaks."""
_HOW = {
    "flag": "space turns it over",
    "choice": "← → turn it, enter shows all",
    "json": "enter opens an editor",
    "headers": "enter opens an editor",
}
_COMMENT = re.compile(r"""\s+#[^"']*$""")


def wrapped(text: str, width: int, ink: str = "", most: int = MOST_LINES) -> Iterator[Line]:
    """An untrusted text in lines of one ink."""
    for line in shown_lines(text, max(width, 1), most)[0]:
        yield ((line, ink),)


def fact(
    label: str, text: str, width: int, ink: str = "", column: int = LABEL, label_ink: str = "muted"
) -> Iterator[Line]:
    """A label in its column and its text, which hangs below itself."""
    for number, (span,) in enumerate(wrapped(text, width - column, ink)):
        yield ((f"{'' if number else label:<{column}}", label_ink), span)


def plan_lines(found: Mapping[str, Any], width: int) -> Iterator[Line]:
    """The lines of a dry run's result."""
    yield ((rollouts_text(found), "strong"),)
    estimate = found["estimate"]
    got, usd = estimate["output_tokens"], estimate["usd"]
    answers = "answers unknown without max_tokens" if got is None else f"{got:,} out"
    tokens = f"about {estimate['input_tokens']:,} in, {answers}"
    yield from fact("tokens", tokens, width)
    listed = list_price_text(estimate.get("list_price") or "")
    yield from fact("cost", cost_text(usd).removeprefix("cost ") + listed, width)
    if "evaluations" in found:
        yield from _evaluations(found["evaluations"], width)
    else:
        yield from _one(found, width)
    for notice in found.get("notices") or ():
        ink = "warn" if notice["level"] == "warning" else "muted"
        yield from fact(notice["level"], notice["text"], width, ink)
    yield EMPTY
    yield from wrapped(f"{estimate['how']}.", width, "faint")


def _evaluations(plans: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    yield EMPTY
    column = len(str(len(plans))) + 2
    for number, plan in enumerate(plans[:MOST_LINES], 1):
        much = rollouts_text(plan).replace(" ", APART)
        yield from fact(f"{number}", f"{title_text(plan)}: {much}", width, column=column)


def _one(found: Mapping[str, Any], width: int) -> Iterator[Line]:
    yield from fact("model", f"{found['model']} at {found['base_url']}", width)
    if found["goes_on"]:
        yield from fact("resumes", str(found["goes_on"]), width)
    functions = found["reward_functions"]
    rewards = ", ".join(
        f"{one['name']}{APART}×{APART}{one['weight']:g}" for one in functions if one["weight"]
    )
    metrics = ", ".join(one["name"] for one in functions if not one["weight"])
    yield from fact("rewards", rewards or "none", width)
    if metrics:
        yield from fact("metrics", metrics, width)
    yield from fact("tools", ", ".join(one["name"] for one in found["tools"]) or "none", width)
    yield EMPTY
    yield (("First prompt", "role"),)
    for message in found["first_prompt"]:
        yield from fact(str(message.get("role")), prompt_text(message), width)


def title_of(draft: Draft, is_changed: bool) -> Line:
    spans: list[Span] = [(str(draft.path) if draft.path else "New evaluation", "role")]
    if len(draft.places) > 1 and draft.path:
        at = draft.places.index(draft.place)
        spans += [(" · ", "faint"), (draft.titles[at], "")]
    if is_changed and draft.path:
        spans += [(" · ", "faint"), ("not saved", "warn")]
    return tuple(spans)


def figures_line(
    form: Form,
    faults: Mapping[str, str],
    others: Sequence[Fault],
    plan: Mapping[str, Any] | None,
    width: int,
) -> Line:
    """The first fault, else the size of the run: by an engine, or an estimate before.

    Args:
        faults: Faults of fields by name.
        others: Faults of no field.
    """
    for field in form.fields():
        if faults.get(field.name, REQUIRED) != REQUIRED:  # the empty field says that itself
            return ((f"{field.label}: {faults[field.name]}", "fault"),)
    if others:
        return ((f"{others[0].where}: {others[0].what}", "fault"),)
    if plan is not None:
        much = rollouts_text(plan)
        return ((much, "strong"), (f"  {spent_text(plan, width - len(much) - 2)}", "muted"))
    examples, each = (form.effective(name) for name in ("num_examples", "rollouts_per_example"))
    if not form.env_id:
        text = "Choose an environment."
    elif examples == -1:
        text = f"all examples × {each} rollouts"
    else:
        text = f"{examples:,} examples × {each} = {examples * each:,} rollouts at most"
    return ((text, "muted"),)


def not_taken_text(labels: Sequence[str]) -> str:
    """A note on fields that TOML and command line leave out; empty for none."""
    return f"without what is typed at {', '.join(labels)}" if labels else ""


def pane_lines(
    others: Sequence[Fault], wrong: Sequence[str], plan: Mapping[str, Any] | None, width: int
) -> Iterator[Line]:
    """The plan of the run, or the faults that prevent one.

    Args:
        others: Faults of no field.
        wrong: Fields with faults.
    """
    for fault in others:
        yield from fact("✗ ", f"{fault.where}: {fault.what}", width, "fault", 2, "bad")
        yield from fact("", fault.hint, width, "muted", 2, "") if fault.hint else ()
    if plan is not None:
        yield from plan_lines(plan, width)
    elif wrong:
        yield from wrapped(f"Fix first: {', '.join(wrong)}", width, "warn")
    elif not others:
        yield from wrapped("Asking the engine what it would do…", width, "faint")


def about_field(field: Field, width: int) -> Iterator[Line]:
    """Flags, type and help of a field."""
    flags = "/".join(field.option.flags) if field.option else ""
    how = "enter shows what there is" if field.name in ("env_id", "model", "resume") else ""
    parts = [flags, field.type, how or _HOW.get(field.kind, "")]
    yield (
        (field.label, "key"),
        *(span for part in parts if part for span in (("  ·  ", "faint"), (part, "muted"))),
    )
    outside = "" if field.in_files else " Not for files: the command line alone can say it."
    empty = ' Type "" for an empty one.' if field.name in MAY_BE_EMPTY else ""
    yield from wrapped(field.help + empty + outside, width, "", 2)


def toml_lines(text: str, width: int) -> Iterator[Line]:
    """TOML with inks for comments, tables and keys."""
    for line in text.splitlines():
        ink = "faint" if line.lstrip().startswith("#") else "role" if line.startswith("[") else ""
        key, equals, rest = line.partition(" = ")
        if equals and not ink:
            comment = _COMMENT.search(rest)
            value = rest[: comment.start()] if comment else rest
            first, *more = (part[0] for part in wrapped(value, max(width - len(key) - 3, 8)))
            yield ((key, "key"), (" = ", "faint"), first, (rest[len(value) :], "faint"))
            yield from ((("    ", ""), span) for span in more)
        elif line:
            yield from wrapped(line, width, ink)
        else:
            yield EMPTY


def readme_of(found: Mapping[str, Any]) -> str:
    """The README of an environment."""
    version = f" {found['release']}" if found["release"] else ""
    head = f"{found['env_id']}{version} · {found['origin']}\n{found['path']}"
    words = (found["module_docstring"], found["readme"] or found["docstring"])
    return "\n\n".join([head, *dict.fromkeys(text.strip() for text in words if text.strip())])


def readme_lines(text: str, width: int) -> Iterator[Line]:
    """A README with an ink for headings."""
    for line in text.splitlines():
        if line.startswith("#"):
            yield from wrapped(line.lstrip("# "), width, "role")
        elif line:
            yield from wrapped(line, width)
        else:
            yield EMPTY
