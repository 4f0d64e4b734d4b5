"""Word problems with their answers, two to four steps long."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import msgspec

CONSTANTS = {
    "pi": 3.141593,
    "km_per_mile": 1.609344,
    "grams_per_ounce": 28.349523,
    "speed_of_light_km_s": 299792.458,
}

_NAMES = (
    *("Amara", "Bilal", "Chiara", "Dmitri", "Elif", "Farid", "Grace", "Hiro", "Ines", "Jonas"),
    *("Kavya", "Leo", "Maya", "Noor"),
)
_GOODS = (
    *("notebooks", "candles", "paintbrushes", "bags of coffee", "house plants", "picture frames"),
)
_CLOTHES = ["A winter jacket", "A pair of boots", "A wool blanket", "A rucksack", "A raincoat"]


class Problem(msgspec.Struct, frozen=True):
    """One problem; `answer` is exact, `info` names its kind."""

    question: str
    answer: float
    info: dict[str, Any]


def _change(dice: random.Random) -> tuple[str, float]:
    count, price = dice.randint(3, 9), dice.randint(125, 1050) / 100
    note = 50 if count * price < 50 else 100
    return (
        f"{dice.choice(_NAMES)} buys {count} {dice.choice(_GOODS)} at {price:.2f} each and pays "
        f"with a {note} note. How much change is that?",
        note - count * price,
    )


def _discount(dice: random.Random) -> tuple[str, float]:
    price, off, extra = dice.randint(40, 180), dice.choice((10, 15, 20, 35)), dice.randint(3, 30)
    return (
        f"{dice.choice(_CLOTHES)} costs {price}, but it is {off} percent off. "
        f"{dice.choice(_NAMES)} also takes a scarf for {extra}. What is the total?",
        price - price * off / 100 + extra,
    )


def _split_bill(dice: random.Random) -> tuple[str, float]:
    friends, bill, tip = dice.randint(3, 8), dice.randint(4500, 24000) / 100, dice.choice((8, 12))
    return (
        f"{friends} friends share a dinner bill of {bill:.2f}. They add a tip of {tip} percent "
        "and split everything evenly. How much does each of them pay?",
        bill * (1 + tip / 100) / friends,
    )


def _pond(dice: random.Random) -> tuple[str, float]:
    laps, radius = dice.randint(3, 12), dice.randint(15, 140)
    return (
        f"{dice.choice(_NAMES)} jogs {laps} laps around a circular pond with a radius of {radius} "
        "metres. How many metres is that in total?",
        laps * radius * 2 * CONSTANTS["pi"],
    )


def _drive(dice: random.Random) -> tuple[str, float]:
    miles, more = dice.randint(12, 240), dice.randint(8, 95)
    return (
        f"{dice.choice(_NAMES)} drives {miles} miles in the morning and another {more} kilometres "
        "after lunch. How many kilometres is the whole trip?",
        miles * CONSTANTS["km_per_mile"] + more,
    )


def _average(dice: random.Random) -> tuple[str, float]:
    sold = [dice.randint(18, 160) for _ in range(3)]
    return (
        f"A market stall sold {sold[0]}, {sold[1]} and {sold[2]} {dice.choice(_GOODS)} on three "
        "days. What is the average per day?",
        sum(sold) / 3,
    )


def _garden(dice: random.Random) -> tuple[str, float]:
    length, width = dice.randint(6, 60), dice.randint(5, 45)
    return (
        f"A rectangular garden is {length} metres long and {width} metres wide. How long is a "
        "straight path from one corner to the opposite one, in metres?",
        math.hypot(length, width),
    )


def _recipe(dice: random.Random) -> tuple[str, float]:
    people, grams, guests = dice.choice((3, 4, 6)), dice.randint(15, 90) * 10, dice.randint(7, 25)
    return (
        f"A recipe for {people} people needs {grams} grams of flour. {dice.choice(_NAMES)} cooks "
        f"for {guests} guests. How many grams of flour are needed?",
        grams / people * guests,
    )


def _chocolate(dice: random.Random) -> tuple[str, float]:
    bars, ounces = dice.randint(6, 48), dice.choice((1.5, 2.5, 3.5, 4.0))
    return (
        f"A box holds {bars} chocolate bars of {ounces} ounces each. How many grams of chocolate "
        "is that?",
        bars * ounces * CONSTANTS["grams_per_ounce"],
    )


def _fuel(dice: random.Random) -> tuple[str, float]:
    use, distance, price = dice.randint(50, 110) / 10, dice.randint(90, 800), dice.randint(141, 199)
    return (
        f"A van uses {use} litres of fuel on 100 kilometres. {dice.choice(_NAMES)} drives it "
        f"{distance} kilometres, and a litre costs {price / 100:.2f}. What does the fuel cost?",
        distance / 100 * use * price / 100,
    )


def _wages(dice: random.Random) -> tuple[str, float]:
    wage, hours, extra = dice.randint(1250, 2900) / 100, dice.randint(20, 40), dice.randint(3, 8)
    return (
        f"{dice.choice(_NAMES)} earns {wage:.2f} an hour and works {hours} hours this week, plus "
        f"{extra} hours on Sunday at double pay. How much is earned altogether?",
        wage * hours + 2 * wage * extra,
    )


def _light(dice: random.Random) -> tuple[str, float]:
    distance = dice.randint(40, 900)
    return (
        f"A space probe is {distance} million kilometres away. How many seconds does light need "
        "to reach it?",
        distance * 1_000_000 / CONSTANTS["speed_of_light_km_s"],
    )


_KINDS: tuple[Callable[[random.Random], tuple[str, float]], ...] = (
    _change,
    _discount,
    _split_bill,
    _pond,
    _drive,
    _average,
    _garden,
    _recipe,
    _chocolate,
    _fuel,
    _wages,
    _light,
)


def write_problems(count: int, seed: int) -> list[Problem]:
    """Distinct problems of all kinds in turn; the same seed gives the same ones.

    Raises:
        ValueError: `count` is not 1 to 10,000.
    """
    if not 1 <= count <= 10_000:
        raise ValueError(f"num_examples must be 1 to 10000, not {count}")
    dice = random.Random(seed)
    problems: dict[str, Problem] = {}
    tries = 0
    while len(problems) < count:
        kind = _KINDS[tries % len(_KINDS)]
        tries += 1
        question, answer = kind(dice)
        problems[question] = Problem(question, answer, {"kind": kind.__name__.strip("_")})
    return list(problems.values())
