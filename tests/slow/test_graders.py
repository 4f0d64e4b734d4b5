"""Graders that others wrote: many rollouts at once get what each gets alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from third_party_packages import script_output, with_tui_eval

GRADERS = with_tui_eval(
    "graders",
    "langdetect==1.0.9",
    "rouge-score==0.1.2",
    "sacrebleu==2.6.0",
    "jiwer==4.0.0",
    "rapidfuzz",
    "levenshtein",
    "textstat==0.7.13",
    extras="math",
)
NAMES = ["langdetect", "rouge", "bleu", "word_errors", "fuzz", "levenshtein", "readability", "math"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.xdist_group("graders")
def test_each_of_64_rollouts_gets_what_its_text_gets_alone(name: str, tmp_path: Path) -> None:
    scored = script_output(GRADERS, "score_with_graders.py", name, tmp_path)
    alone = scored["theirs"]
    assert len(set(alone)) > 1 and len(scored["ours"]) == 64
    for place, reward, error in scored["ours"]:
        assert (error, reward) == ("", alone[int(place) % len(alone)])
