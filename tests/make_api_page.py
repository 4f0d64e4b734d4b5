"""Writes docs/api.md from the docstrings of every public name: `make api`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import griffe

import tui_eval

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"

CHAPTERS = {
    "Environments": ("tui_eval.environments.",),
    "Parsers": ("tui_eval.parsers.",),
    "Rubrics": ("tui_eval.rubrics.",),
    "Clients and their settings": ("tui_eval.clients.", "tui_eval.client_config"),
    "Rollouts": ("tui_eval.state", "tui_eval.rollout_data"),
    "Messages": ("tui_eval.messages",),
    "Errors": ("tui_eval.errors",),
    "Prime's command line": ("tui_eval.cli.",),
}
FUNCTIONS = "Functions and decorators"

HEAD = """# API

Every name of `import tui_eval as vf`, from its docstring. `tui_eval.types` has all data types, too.
This page is made by `make api`.
"""


def page() -> str:
    """The whole page."""
    package = load_package()
    chapters: dict[str, list[str]] = {name: [] for name in (*CHAPTERS, FUNCTIONS)}
    for name in sorted(tui_eval._HOME_OF, key=str.lower):
        home = tui_eval._HOME_OF[name]
        found = package[f"{home}.{name}".removeprefix("tui_eval.")]
        chapters[chapter_of(home, found)].append("\n".join(entry(name, found)))
    parts = [HEAD]
    parts += ["\n\n".join([f"## {title}", *entries]) + "\n" for title, entries in chapters.items()]
    return "\n".join(parts)


def load_package() -> griffe.Module:
    """The package as its source says; nothing of it is imported for this."""
    loader = griffe.GriffeLoader(search_paths=[ROOT], docstring_parser=griffe.Parser.google)
    package = loader.load("tui_eval", try_relative_path=False)
    loader.resolve_aliases()
    assert isinstance(package, griffe.Module)
    return package


def chapter_of(home: str, found: griffe.Object | griffe.Alias) -> str:
    """The title under which an object stands."""
    if found.is_function:
        return FUNCTIONS
    return next(title for title, homes in CHAPTERS.items() if home.startswith(homes))


def entry(name: str, found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """The lines of one name."""
    yield f"### {name}\n"
    if found.is_class:
        yield from class_lines(found)
    elif found.is_function:
        yield f"`{signature(found)}`\n"
        yield from described(found)
    else:
        yield f"`{' '.join(str(found.value).split())}`"
        yield from ("", *described(found))


def class_lines(found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """A class: its bases and arguments, what it is, its attributes and methods."""
    hidden = {"ABC", "object", *(base.name for base in private_bases(found))}
    bases = [str(base) for base in found.bases if str(base) not in hidden]
    if bases:
        yield f"*extends {', '.join(f'`{base}`' for base in bases)}*\n"
    if "__init__" in found.members:
        init = signature(found.members["__init__"])
        yield f"`{found.name}{init.removeprefix('__init__')}`\n"
    yield from described(found)
    members = documented_members(found)
    fields = [one for one in members if one.is_attribute and "property" not in one.labels]
    methods = [one for one in members if one.is_function or "property" in one.labels]
    if fields:
        yield "\n" + ", ".join(f"`{one.name}: {one.annotation}`" for one in fields)
    if methods:
        yield ""
    for one in methods:
        call = "await " if "async" in one.labels else ""
        shown = one.name if one.is_attribute else call + signature(one)
        yield f"- `{shown}` {summary(one)}"
        yield from method_lines(one)


def documented_members(found: griffe.Object | griffe.Alias) -> list[griffe.Object | griffe.Alias]:
    """Public methods, properties and declared fields; methods of bases that are not public too."""
    members: dict[str, griffe.Object | griffe.Alias] = {}
    for base in [found, *private_bases(found)]:
        is_data = base is found and "__init__" not in base.members
        for name, one in base.members.items():
            is_field = one.is_attribute and one.annotation is not None and is_data
            if not name.startswith("_") and (
                one.is_function or "property" in one.labels or is_field
            ):
                members.setdefault(name, one)
    return list(members.values())


def private_bases(found: griffe.Object | griffe.Alias) -> list[griffe.Object | griffe.Alias]:
    """The bases that no public class above has on its own page entry."""
    above = found.mro()
    public = [base for base in above if base.name in tui_eval._HOME_OF]
    listed_above = {name.path for base in public for name in base.mro()}
    return [one for one in above if one not in public and one.path not in listed_above]


def method_lines(found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """The part of a method's docstring beyond its first sentence, as a list below it."""
    if found.docstring is None:
        return
    for section in found.docstring.parse(griffe.Parser.google, warnings=False):
        if section.kind is griffe.DocstringSectionKind.text:
            rest = str(section.value).split("\n\n")[1:]
            yield from (f"  - {flat(text)}" for text in rest)
        else:
            said = {"raises": "raises ", "returns": "returns: "}.get(section.kind.value, "")
            entries = (line for line in listed(section) if line.startswith("- "))
            yield from (f"  - {said}{line.removeprefix('- ')}" for line in entries)


def signature(found: griffe.Object | griffe.Alias) -> str:
    """A call as it is written, without `self` and annotations."""
    shown, star = [], False
    for one in found.parameters:
        if one.name in ("self", "cls"):
            continue
        kind = one.kind
        if kind is griffe.ParameterKind.var_positional:
            star = True
        elif kind is griffe.ParameterKind.keyword_only and not star:
            star = True
            shown.append("*")
        prefix = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
        default = one.default if kind not in prefix and one.default is not None else None
        shown.append(f"{prefix.get(kind, '')}{one.name}" + (f"={default}" if default else ""))
    return f"{found.name}({', '.join(shown)})"


def summary(found: griffe.Object | griffe.Alias) -> str:
    """The first sentence of a docstring."""
    text = inspect.cleandoc(found.docstring.value) if found.docstring else ""
    return " ".join(text.split("\n\n")[0].split())


def described(found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """A docstring as Markdown, sections as lists."""
    if found.docstring is None:
        return
    for section in found.docstring.parse(griffe.Parser.google, warnings=False):
        if section.kind is griffe.DocstringSectionKind.text:
            yield str(section.value)
        else:
            yield from listed(section)


def listed(section: griffe.DocstringSection) -> Iterator[str]:
    """Arguments, results and errors as a list with a heading."""
    kind = section.kind
    if kind is griffe.DocstringSectionKind.parameters:
        yield "\nArguments:\n"
        yield from (f"- `{one.name}`: {flat(one.description)}" for one in section.value)
    elif kind is griffe.DocstringSectionKind.raises:
        yield "\nRaises:\n"
        yield from (f"- `{one.annotation}`: {flat(one.description)}" for one in section.value)
    elif kind is griffe.DocstringSectionKind.returns:
        yield "\nReturns:\n"
        yield "- " + flat(" ".join(returned(one) for one in section.value))


def returned(one: griffe.DocstringReturn) -> str:
    """The result of a function; a name before a colon is part of the sentence here."""
    return f"{one.name}: {one.description}" if one.name else str(one.description)


def flat(text: str) -> str:
    """Text on one line."""
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")
