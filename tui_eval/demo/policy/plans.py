"""How the calculator's problems are solved: which tool gets which number."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec


class Result(msgspec.Struct, frozen=True):
    """What an earlier step gave, counted from 0."""

    step: int


class Step(msgspec.Struct, frozen=True):
    """One tool call: numbers, names of constants, or results of earlier steps."""

    tool: str
    operands: tuple[float | str | Result, ...]


Plan: TypeAlias = list[Step]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _step(tool: str, *operands: float | str | Result) -> Step:
    return Step(tool, operands)


def _change(count: float, price: float, note: float) -> Plan:
    return [_step("multiply", count, price), _step("subtract", note, Result(0))]


def _discount(price: float, off: float, extra: float) -> Plan:
    return [
        _step("percent_of", off, price),
        _step("subtract", price, Result(0)),
        _step("add", Result(1), extra),
    ]


def _split_bill(friends: float, bill: float, tip: float) -> Plan:
    return [
        _step("percent_of", tip, bill),
        _step("add", bill, Result(0)),
        _step("divide", Result(1), friends),
    ]


def _pond(laps: float, radius: float) -> Plan:
    return [
        _step("look_up_constant", "pi"),
        _step("multiply", 2, radius),
        _step("multiply", Result(0), Result(1)),
        _step("multiply", Result(2), laps),
    ]


def _drive(miles: float, more: float) -> Plan:
    return [
        _step("look_up_constant", "km_per_mile"),
        _step("multiply", miles, Result(0)),
        _step("add", Result(1), more),
    ]


def _average(first: float, second: float, third: float) -> Plan:
    return [
        _step("add", first, second),
        _step("add", Result(0), third),
        _step("divide", Result(1), 3),
    ]


def _garden(length: float, width: float) -> Plan:
    return [
        _step("multiply", length, length),
        _step("multiply", width, width),
        _step("add", Result(0), Result(1)),
        _step("square_root", Result(2)),
    ]


def _recipe(people: float, grams: float, guests: float) -> Plan:
    return [_step("divide", grams, people), _step("multiply", Result(0), guests)]


def _chocolate(bars: float, ounces: float) -> Plan:
    return [
        _step("look_up_constant", "grams_per_ounce"),
        _step("multiply", bars, ounces),
        _step("multiply", Result(0), Result(1)),
    ]


def _fuel(use: float, per: float, distance: float, price: float) -> Plan:
    return [
        _step("divide", distance, per),
        _step("multiply", Result(0), use),
        _step("multiply", Result(1), price),
    ]


def _wages(wage: float, hours: float, extra: float) -> Plan:
    return [
        _step("multiply", wage, hours),
        _step("multiply", wage, 2),
        _step("multiply", Result(1), extra),
        _step("add", Result(0), Result(2)),
    ]


def _light(millions: float) -> Plan:
    return [
        _step("look_up_constant", "speed_of_light_km_s"),
        _step("multiply", millions, 1_000_000),
        _step("divide", Result(1), Result(0)),
    ]


_BY_PHRASE: dict[str, Callable[..., Plan]] = {
    "How much change": _change,
    "percent off": _discount,
    "share a dinner bill": _split_bill,
    "circular pond": _pond,
    "How many kilometres is the whole trip": _drive,
    "average per day": _average,
    "rectangular garden": _garden,
    "of flour": _recipe,
    "chocolate bars": _chocolate,
    "litres of fuel": _fuel,
    "at double pay": _wages,
    "does light need": _light,
}


def make_plan(question: str) -> Plan | None:
    """The steps that solve a problem of the calculator environment; None for any other text."""
    numbers = [float(number) for number in _NUMBER.findall(question)]
    for phrase, plan in _BY_PHRASE.items():
        if phrase in question:
            try:
                return plan(*numbers)
            except TypeError:
                return None
    return None
