"""Ten tool environments that the scripted policy was not written for; one module has all."""

from datetime import date
from enum import Enum
from typing import Annotated, Literal

import verifiers as vf
from pydantic import BaseModel, Field


class Unit(Enum):
    KM = "km"
    MILES = "miles"


class Item(BaseModel):
    name: str
    count: Annotated[int, Field(ge=1, le=20)] = 1


def convert(value: float, unit: Literal["km", "miles"]) -> str:
    """Converts a distance.

    Args:
        value: How far it is.
        unit: What it is given in.
    """
    return f"{value * (1.609 if unit == 'miles' else 0.621):.2f}"


def look_up(city: str, field: Literal["country", "river", "people"] = "country") -> str:
    """Looks something up of a city."""
    return {"country": "Austria", "river": "Mur", "people": "300000"}[field]


def search(query: str, limit: int = 3) -> str:
    """Searches a shelf of books by a word."""
    books = [book for book in ("Heidi", "Ulysses", "Faust") if query.lower() in book.lower()]
    return ", ".join(books[:limit]) or "nothing"


def book(day: date, people: Annotated[int, Field(ge=1, le=8)]) -> str:
    """Books a table."""
    return f"a table for {people}" if people <= 4 else "no table is free"


def order(items: list[Item], express: bool = False) -> str:
    """Orders things."""
    return f"{len(items)} things, {'today' if express else 'soon'}"


def paint(colour: Literal["red", "green", "blue"], walls: list[int]) -> str:
    """Paints walls by their numbers."""
    return f"{len(walls)} walls are {colour}"


def dice(sides: Literal[6, 8, 20], throws: Annotated[int, Field(ge=1, le=5)] = 1) -> str:
    """Throws dice."""
    return str(sides * throws // 2)


def translate(text: str, to: Literal["de", "fr"], formal: bool | None = None) -> str:
    """Translates a text."""
    return f"{to}: {text[::-1]}"


def move(direction: Literal["north", "south", "east", "west"], steps: int) -> str:
    """Walks through a maze."""
    return "the way out" if direction == "north" else "a wall"


def store(values: dict[str, int]) -> str:
    """Keeps numbers under their names."""
    return f"kept {sum(values.values())}"


TOOLS = {
    "distance": ([convert], "How many km are 26 miles?", "41."),
    "cities": ([look_up], "Which river flows through Graz?", "Mur"),
    "books": ([search], "Is Faust on the shelf?", "Faust"),
    "tables": ([book], "Is there a table for 4 on Friday?", "table"),
    "orders": ([order], "Order 3 lamps and 2 chairs.", "soon"),
    "walls": ([paint], "Paint walls 1, 2 and 5 green.", "green"),
    "dice": ([dice], "Throw a die with 20 sides twice.", "20"),
    "words": ([translate], "What is good morning in German?", "de:"),
    "maze": ([move], "Find the way out.", "way out"),
    "shop": ([convert, look_up, search, order, store], "Order 4 maps of Austria.", "things"),
}


def load_environment(kind: str):
    tools, question, wanted = TOOLS[kind]

    def found(completion) -> float:
        return float(any(wanted in str(message["content"]) for message in completion))

    return vf.ToolEnv(dataset=[{"question": question}], tools=tools, rubric=vf.Rubric([found]))
