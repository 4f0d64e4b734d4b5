from __future__ import annotations

import pytest

import tui_eval as vf


def test_all_missing_variables_are_reported_at_once_and_how_to_set_them(monkeypatch):
    monkeypatch.setenv("KEY_THAT_IS_SET", "x")
    monkeypatch.setenv("KEY_THAT_IS_EMPTY", "")
    monkeypatch.delenv("KEY_THAT_IS_MISSING", raising=False)
    names = ["KEY_THAT_IS_SET", "KEY_THAT_IS_EMPTY", "KEY_THAT_IS_MISSING", "KEY_THAT_IS_EMPTY"]
    with pytest.raises(vf.MissingKeyError) as missing:
        vf.ensure_keys(names)
    assert isinstance(missing.value, ValueError)
    assert missing.value.keys == ["KEY_THAT_IS_EMPTY", "KEY_THAT_IS_MISSING"]
    assert "not set: KEY_THAT_IS_EMPTY, KEY_THAT_IS_MISSING." in str(missing.value)
    assert "export KEY_THAT_IS_EMPTY=... KEY_THAT_IS_MISSING=..." in str(missing.value)


def test_nothing_happens_where_all_are_set(monkeypatch):
    monkeypatch.setenv("KEY_THAT_IS_SET", "x")
    assert vf.ensure_keys(["KEY_THAT_IS_SET"]) is None
    assert vf.ensure_keys([]) is None
