"""An upper bound of what `msgspec.Struct` would save as the base of values: constructions a case times the difference of each.

A run of cases with one call each, of a model that replies at once, counts how often each dataclass of evalmark is constructed and
which arguments it gets. Then a plain frozen dataclass and a frozen Struct with the same fields are constructed with these arguments.

Run: python benchmarks/constructors.py [--cases 5000]
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, make_dataclass
from inspect import signature
from pathlib import Path
from timeit import repeat
from typing import Any

import msgspec
from large import ROW, measure, write_rows
from rows import AddRow, add_json, row_output

TIMES = 20_000
Constructed = Counter[type]
Arguments = dict[type, dict[str, Any]]
"""For each class the arguments of its last construction."""


def run_cases(cases: int) -> dict[str, float]:
    sys.modules.pop("bench_target", None)  # that of the run before, in another folder
    with tempfile.TemporaryDirectory() as name:
        write_rows(Path(name) / "cases.jsonl", cases * ROW / 1e6)
        return measure(Path(name), calls=True)


@contextmanager
def counted() -> Iterator[tuple[Constructed, Arguments]]:
    """Count the constructions of every dataclass of evalmark that is loaded by now."""
    counts, arguments = Constructed(), Arguments()
    every = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("evalmark.")
        for value in list(vars(module).values())
        if isinstance(value, type) and is_dataclass(value) and "__init__" in vars(value)
    }
    originals = {kind: kind.__init__ for kind in every}

    def wrapped(kind: type) -> Any:
        original, parameters = originals[kind], signature(originals[kind])

        def init(self: Any, *given: Any, **named: Any) -> None:
            counts[kind] += 1
            if kind not in arguments:
                bound = parameters.bind(self, *given, **named).arguments
                arguments[kind] = {name: value for name, value in bound.items() if name != "self"}
            original(self, *given, **named)

        return init

    for kind in every:
        kind.__init__ = wrapped(kind)
    try:
        yield counts, arguments
    finally:
        for kind, original in originals.items():
            kind.__init__ = original


def microseconds(kind: Any, arguments: dict[str, Any]) -> float:
    return min(repeat(lambda: kind(**arguments), number=TIMES, repeat=5)) / TIMES * 1e6


def difference(kind: type, arguments: dict[str, Any]) -> float:
    """Microseconds that a Struct takes less than a frozen dataclass, both without `__post_init__`."""
    every = [(field.name, Any, None) for field in fields(kind)]
    slow = make_dataclass("Slow", every, frozen=True, kw_only=True)
    quick = msgspec.defstruct("Quick", every, frozen=True, kw_only=True, dict=True)
    return max(0.0, microseconds(slow, arguments) - microseconds(quick, arguments))


def compare(cases: int, add_row: AddRow) -> None:
    run_cases(100)  # loads all modules
    with counted() as (counts, arguments):
        run_cases(cases)
    each = {kind: count / cases for kind, count in counts.items() if count >= cases / 10}
    saved = {kind: count * difference(kind, arguments[kind]) for kind, count in each.items()}
    most = sorted(saved, key=lambda kind: -saved[kind])[:8]
    note = ", ".join(f"{kind.__name__} {each[kind]:.0f} x {saved[kind] / each[kind]:.1f} µs" for kind in most)
    total, plain = sum(saved.values()), run_cases(cases)
    taken = plain["cpu"] / plain["rows"] * 1e6
    add_row(what="dataclasses constructed, a case", found=sum(each.values()), note=note)
    add_row(what="processor time that Structs save at most, a case", found=total, unit="µs")
    add_row(what="the same, of a case without HTTP", found=100 * total / taken, unit="%", note=f"of {taken:.0f} µs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5_000)
    add_json(parser)
    args = parser.parse_args()
    with row_output(args.json) as add_row:
        compare(args.cases, add_row)


if __name__ == "__main__":
    main()
