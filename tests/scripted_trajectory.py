"""Stories with all that a trajectory may have: code, JSON, pictures, a turn that is just coming."""

from __future__ import annotations

import json
from typing import Any

from scripted_conversation import call
from scripted_rows import recorded_trajectory, row_of, saved_row, saved_rows
from scripted_run import (
    ERRORS,
    NOW,
    SELECTED,
    ScriptedFeed,
    all_events,
    finished,
    run_started,
    running_events,
    staged,
)

from tui_eval import events as ev

CODE = """from statistics import mean

def whole_candles(boxes: list[int]) -> int:
    \"\"\"Counts what did not break.\"\"\"
    # every fourth one is broken
    return sum(size - size // 4 for size in boxes)

print(whole_candles([36, 36, 36]))"""

SPOKEN = f"""## Plan

1. Count the candles of **one day**.
2. Take away what broke with `whole_candles`.

```python
{CODE}
```

The result comes as JSON."""

FOUND = {
    "query": "candles per box",
    "hits": [
        {"title": "Candle sizes", "score": 0.93, "in_stock": True, "price": None},
        {"title": "Boxes of 36", "score": 0.71, "in_stock": False, "price": 12.5},
    ],
}
PICTURE = "data:image/png;base64," + "iVBORw0KGgo" * 4000


def rich_row() -> dict[str, Any]:
    """A saved rollout with a picture, code, JSON, and an answer that was cut."""
    prompt = [
        {"role": "system", "content": "Use the tools. Answer as JSON."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "How many candles are on this picture?"},
                {"type": "image_url", "image_url": {"url": PICTURE}},
                {"type": "input_audio", "input_audio": {"data": "UklGR" * 900, "format": "wav"}},
            ],
        },
    ]
    completion = [
        {
            "role": "assistant",
            "content": SPOKEN,
            "reasoning_content": "\n".join(f"Thought {n}: boxes and candles." for n in range(9)),
            "tool_calls": [
                call("c1", "python", code=CODE, timeout=5),
                call("c2", "search", query="candles per box", filters={"kind": "box", "most": 2}),
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "81"},
        {"role": "tool", "tool_call_id": "c2", "content": json.dumps(FOUND)},
        {"role": "assistant", "content": '{"candles": 81, "because": "a quarter of each box br'},
    ]
    steps = [
        {"model_ms": 2400.0, "input_tokens": 412, "output_tokens": 208, "finish_reason": "stop"},
        {"model_ms": 900.0, "input_tokens": 790, "output_tokens": 16, "finish_reason": "length"},
    ]
    calls = [{"id": "c1", "ms": 41.0, "error": None}, {"id": "c2", "ms": 130.0, "error": None}]
    kept = row_of(rich(), completion)
    ours = kept["tui_eval"] | {"steps": steps, "tool_calls": calls}
    return {**kept, "prompt": prompt, "answer": "81", "tui_eval": ours}


def rich() -> ev.RolloutFinished:
    """The event of it for the list: the number is right, and the JSON around it cut."""
    found = {"exact_match": 1.0, "closeness": 1.0, "answer_format": 0.0, "num_turns": 2.0}
    return finished(
        1,
        turns=2,
        tool_calls=2,
        tools={"python": (1, 0), "search": (1, 0)},
        input_tokens=1202,
        output_tokens=224,
        model_ms=[2400.0, 900.0],
        generation_ms=3471.0,
        total_ms=3512.0,
        truncated=True,
        metrics=found,
        reward=0.9,
    )


def rich_feed() -> ScriptedFeed:
    """A run whose second rollout has it all."""
    start, first, _, *others = all_events()
    rows = {**saved_rows(), 1: rich_row()}
    return ScriptedFeed([start, first, rich(), *others], rows, live=False)


WRITING = {
    "reasoning": "The third box is whole again, so only two of them count. ",
    "text": "Two boxes of 36 fell, and of each **every fourth** candle broke:\n\n"
    "```python\nbroken = 2 * 36 // 4\n```\n\nThat leaves ",
}


def writing_feed() -> ScriptedFeed:
    """A run whose selected rollout is just being answered."""
    coming = [
        ev.TextAdded(0, NOW - 1, SELECTED, 3, kind, 0, text) for kind, text in WRITING.items()
    ]
    return ScriptedFeed(
        [*running_events(), staged(SELECTED, ev.Stage.MODEL, at=NOW - 3, turns=2, tool_calls=5)],
        saved_rows(),
        trajectories={SELECTED: [*recorded_trajectory(), *coming]},
    )


def long_row(turns: int, characters: int) -> dict[str, Any]:
    """A saved rollout of so many turns, with tool calls, and about so much text."""
    each = characters // (2 * turns)
    completion: list[dict[str, Any]] = []
    for turn in range(turns):
        words = " ".join(f"word{turn}_{n}" for n in range(each // 10))
        lines = "\n".join(f"row {turn} {n}: value" for n in range(each // 18))
        completion.append({
            "role": "assistant",
            "content": f"# Turn {turn}\n\n{words}",
            "tool_calls": [call(f"c{turn}", "search", query=f"needle {turn}")],
        })  # fmt: skip
        completion.append({"role": "tool", "tool_call_id": f"c{turn}", "content": lines})
    return {**saved_row(0), "completion": completion, "tui_eval": {"steps": [], "tool_calls": []}}


def long_feed(turns: int, characters: int) -> ScriptedFeed:
    """A saved run whose only rollout is long."""
    start = run_started(total=4, num_examples=1)
    end = ev.RunFinished(0, NOW, "finished", 0)
    done = [event for event in all_events() if isinstance(event, ev.RolloutFinished)][:4]
    rows = {row: long_row(turns, characters) for row in range(4)}
    return ScriptedFeed([start, *done, end], rows, live=False)


assert 1 not in ERRORS
