"""Keys by the names that Textual has for them, and as people read and write them: `^d`, `?`."""

from __future__ import annotations

import unicodedata

from tui_eval.errors import nearest

SIGNS = {
    "escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "up": "↑", "down": "↓", "left": "←",
    "right": "→", "backspace": "⌫", "delete": "del", "space": "space", "tab": "tab",
    "enter": "enter", "home": "home", "end": "end", "insert": "ins",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}  # fmt: skip
HELD = {"ctrl": "^", "shift": "⇧", "alt": "⌥"}
SHORTER = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at",
    "hyphen_minus": "minus", "plus_sign": "plus", "low_line": "underscore",
}  # fmt: skip
SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+left_square_bracket": "escape"}
"""A terminal sends these as if they were another key."""


def name_of(character: str) -> str:
    """The name of the key that types a character."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return SHORTER.get(name, name)


CHARACTERS = {name_of(character): character for character in map(chr, range(33, 127))}
NAMES = {
    **{name: name for name in (*SIGNS, *CHARACTERS)},
    **{sign.lower(): name for name, sign in SIGNS.items()},
    **{"return": "enter", "page_down": "pagedown", "page_up": "pageup", "del": "delete"},
}


def sign_of(key: str) -> str:
    """One key as it is shown."""
    *held, plain = key.split("+")
    sign = SIGNS.get(plain) or CHARACTERS.get(plain, plain)
    return "".join(HELD.get(one, f"{one}+") for one in held) + sign


def plain_name(key: str) -> str:
    """A key as it is written into a file: characters for what is typed, names for the rest."""
    *held, plain = key.split("+")
    quoted = plain in ("quotation_mark", "backslash")
    return "+".join((*held, plain if quoted else CHARACTERS.get(plain, plain)))


def key_of(text: str) -> str:
    """The key that people mean: `?`, `esc`, `ctrl+d`, `^d`, `shift+tab`, `question_mark`.

    Raises:
        ValueError: There is no such key, or a terminal sends another key for it.
    """
    held, plain = _apart(text)
    if len(plain) != 1:
        name = NAMES.get(plain.lower())
    elif plain in SIGNS.values():
        name = NAMES[plain]
    else:
        is_typed = plain.isalnum() and (plain.isascii() or not held)
        name = name_of(plain) if is_typed or name_of(plain) in CHARACTERS else None
    if name is None:
        raise ValueError(f"there is no key {text!r}")
    if held == {"shift"} and len(name) == 1 and name.upper() != name:
        held, name = set(), name.upper()
    elif "shift" in held and name in CHARACTERS and (len(name) > 1 or name.isdigit()):
        raise ValueError(f"{text!r}: write the character that shift makes of it")
    elif held and len(name) == 1:
        name = name.lower()
    key = "+".join((*sorted(held), name))
    if key in SAME:
        raise ValueError(f"{text!r}: a terminal sends {SAME[key]} for it")
    return key


def key_like(text: str) -> str:
    """The key that a wrong one may have been meant for, as a sentence, or an empty string."""
    plain = text.rpartition("+")[2]
    return nearest(text, [*NAMES, *(f"{held}+{plain}" for held in HELD)], most=1)


def _apart(text: str) -> tuple[set[str], str]:
    """The modifiers of a key, and the key itself."""
    held: set[str] = set()
    while len(text) > 1:
        first, plus, rest = text.partition("+")
        if plus and rest and first.lower() in HELD:
            held.add(first.lower())
            text = rest
            continue
        name = next((name for name, sign in HELD.items() if sign == text[0]), None)
        if name is None:
            break
        held.add(name)
        text = text[1:]
    return held, text
