"""The alias has every name of verifiers that is recorded, but for those with a reason."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

import pytest
from recorded_names import ACCEPTED, KNOWN, RECORDED, gaps, open_gaps, parsed, place_of


@pytest.mark.slow
def test_every_gap_is_known_and_every_known_gap_is_one() -> None:
    known, now = set(KNOWN.read_text().splitlines()), set(open_gaps())
    opened, closed = sorted(now - known), sorted(known - now)
    how = "python tests/compat/recorded_names.py writes the list of known gaps anew"
    assert not opened, f"names of verifiers that are not here any more: {opened}"
    assert not closed, f"gaps that are closed; {how}: {closed}"


@pytest.mark.slow
def test_every_accepted_gap_is_one() -> None:
    places = [place_of(gap) for gap in gaps()]
    unused = [one for one in ACCEPTED if not any(fnmatchcase(place, one) for place in places)]
    assert unused == []
    assert all(len(reason) > 10 for reason in ACCEPTED.values())


def test_what_is_recorded_is_small_and_of_one_version() -> None:
    assert RECORDED.stat().st_size < 150_000
    recorded = json.loads(RECORDED.read_text())
    assert recorded["version"] == "0.1.11"
    assert len(recorded["modules"]) > 90


@pytest.mark.parametrize(
    ("text", "positional", "named", "defaults"),
    [
        ("(a, b=1, *, c='x', **more)", ["a", "b"], ["c"], {"b": "1", "c": "'x'"}),
        ("()", [], [], {}),
        ("(self, /, x=...)", ["self", "x"], [], {"x": "..."}),
    ],
)
def test_parameters_are_read_from_their_text(
    text: str, positional: list[str], named: list[str], defaults: dict[str, str]
) -> None:
    read = parsed(text)
    assert (read.positional, read.named, read.defaults) == (positional, named, defaults)
