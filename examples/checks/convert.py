"""Two small targets without any model: a unit converter that answers in text, and an order reader that answers in data."""

import re
from typing import Any

# unit: (what is measured, how many of the first unit of its kind, added after that)
UNITS = {
    "m": ("length", 1.0, 0.0),
    "km": ("length", 1000.0, 0.0),
    "cm": ("length", 0.01, 0.0),
    "in": ("length", 0.0254, 0.0),
    "ft": ("length", 0.3048, 0.0),
    "mi": ("length", 1609.344, 0.0),
    "kg": ("weight", 1.0, 0.0),
    "g": ("weight", 0.001, 0.0),
    "lb": ("weight", 0.45359237, 0.0),
    "oz": ("weight", 0.028349523125, 0.0),
    "°C": ("temperature", 1.0, 0.0),
    "°F": ("temperature", 5 / 9, -160 / 9),
}


def convert(question: str) -> str:
    """An amount in another unit, rounded to two places.

    >>> convert("3.5 mi in km"), convert("212 °F in °C"), convert("2 kg in m")
    ('5.63 km', '100 °C', 'weight is not length')
    """
    found = re.fullmatch(r"\s*(-?[\d.]+)\s*(\S+)\s+(?:in|to)\s+(\S+)\s*", question)
    if found is None or found[2] not in UNITS or found[3] not in UNITS:
        return "I cannot read that"
    kind, factor, offset = UNITS[found[2]]
    wanted, other_factor, other_offset = UNITS[found[3]]
    if kind != wanted:
        return f"{kind} is not {wanted}"
    amount = (float(found[1]) * factor + offset - other_offset) / other_factor
    return f"{round(amount, 2):g} {found[3]}"


WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "twelve": 12}
GOODS = ("baguette", "bun", "croissant", "loaf", "pretzel")


def read_order(text: str) -> dict[str, Any]:
    """What somebody wants from the bakery, as data.

    >>> read_order("Two pretzels and a loaf, please, for 8:30")
    {'items': [{'name': 'pretzel', 'count': 2}, {'name': 'loaf', 'count': 1}], 'time': '08:30'}
    """
    items = [
        {"name": name.lower(), "count": WORDS.get(number.lower()) or int(number)}
        for number, name in re.findall(rf"\b({'|'.join(WORDS)}|\d+) ({'|'.join(GOODS)})s?\b", text, re.IGNORECASE)
    ]
    clock = re.search(r"\b(\d{1,2}):(\d{2})\b", text)
    return {"items": items, "time": f"{int(clock[1]):02d}:{clock[2]}" if clock else None}
