"""A check that the expected tools were called with the expected arguments."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output, ToolCall
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.matching.differences import describe_data, describe_difference
from evalmark.scoring.matching.equality import (
    Comparator,
    Fuzzy,
    check_data,
    check_rule,
    fuzzy_options,
    json_data,
    strict_equal,
)
from evalmark.scoring.matching.pairing import best_ordered_pairs, maximum_pairs

from .expected_tools import COLUMN, ExpectedCall, expected_calls, expected_tools_in

NO_TOOLS = f"the case has no `{COLUMN}`; an empty list says that no tool is to be called"

Arguments = Literal["strict", "fuzzy", "ignore"] | Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls:
    """Check that the expected tools were called. Each call counts for one expected call.

    Args:
        expected: Names, or `{name, arguments}`; None uses the column `expected_tools` of the case. An empty list expects
            that no tool is called.
        ordered: The calls must come in the expected order; other calls may come between them.
        require_all: Every expected call must be made; False makes the value the share of those that were.
        allow_extras: Allow further calls; False makes the value 0 if there is one.
        arguments: How to compare expected arguments: `strict`, `fuzzy`, `ignore`, or a function of both.
        count_failed: Count calls that failed; False treats them as not made.
        fuzzy: What `arguments: fuzzy` ignores: `ignore_case`, `substring` (true here), `any_order`, `tolerance`, `coerce`.

    Returns:
        A score from 0 to 1 that passes at 1, with the matched, missing and extra calls in its detail; `unscored` if the
        case names no expected tools.

    Raises:
        ConfigError: A setting or `expected` is invalid.

    >>> called = Output(tool_calls=(ToolCall(name="search", arguments={"q": "Oslo"}),))
    >>> ToolCalls(expected=["search", "book"])(Case(id="1"), called).reason
    '1 of 2 expected calls was made: book was not called'
    """

    name: ClassVar[str] = "tool_calls"
    is_check: ClassVar[bool] = True

    expected: str | Mapping[str, Any] | Sequence[Any] | None = None
    ordered: bool = False
    require_all: bool = True
    allow_extras: bool = True
    arguments: Arguments = "strict"
    count_failed: bool = True
    fuzzy: Mapping[str, Any] | Fuzzy | None = None

    def __post_init__(self) -> None:
        check_rule(self.arguments, "arguments", ("strict", "fuzzy", "ignore"), self.name)
        if self.fuzzy is not None and self.arguments != "fuzzy":
            raise ConfigError(f"{self.name}: `fuzzy` only applies to fuzzy matching; set `arguments: fuzzy` too.")
        fuzzy_options(self.fuzzy, True, self.name)
        if self.expected is None:
            return
        try:
            wanted = expected_calls(self.expected)
        except ValueError as fault:
            raise ConfigError(f"{self.name}: `expected` cannot be used: {fault}.") from fault
        for call in wanted:
            check_data(call.arguments, rules=self.arguments == "fuzzy", setting="arguments", place=self.name)

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return NO_TOOLS if self.expected is None and expected_tools_in(case.metadata) is None else ""

    def __call__(self, case: Case, output: Output) -> Score:
        tools = expected_tools_in(case.metadata) if self.expected is None else self.expected
        if tools is None:
            return unscored(self.name, NO_TOOLS)
        try:
            wanted, made = (
                expected_calls(tools),
                [replace(call, arguments=json_data(call.arguments)) for call in output.tool_calls],
            )
            counted = [call for call in made if self.count_failed or call.error is None]
            failed = [call.name for call in made if call.error is not None]
            found = _match_calls(wanted, counted, self._same(), self.ordered)
        except (ValueError, TimeoutError) as fault:
            return Score(name=self.name, status="error", reason=f"the expected tools cannot be applied: {fault}")
        value, refused = self._value(found), bool(found.extras) and not self.allow_extras
        reason = _reason(found, self.ordered, refused, failed)
        detail = {**found.detail(), "failed": failed}
        return Score(name=self.name, raw=value, value=value, passed=value == 1.0, reason=reason, detail=detail)

    def _same(self) -> Comparator:
        if self.arguments == "strict":
            return strict_equal
        if self.arguments == "ignore":
            return lambda expected, found: True
        return fuzzy_options(self.fuzzy, True, self.name) if self.arguments == "fuzzy" else self.arguments

    def _value(self, found: "_CallMatch") -> float:
        if not found.wanted:
            return float(not found.calls)
        if found.extras and not self.allow_extras:
            return 0.0
        share = len(found.pairs) / len(found.wanted)
        # Calls in the right order that differ only in arguments get partial credit, even if every call is required.
        partly = not self.require_all or (self.ordered and not found.missing)
        return share if partly or share == 1 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _CallMatch:
    """The assignment of actual calls to expected ones, by index."""

    wanted: Sequence[ExpectedCall]
    calls: Sequence[ToolCall]
    same: Comparator
    pairs: Mapping[int, int]
    wrong: Mapping[int, int]
    """Pairs with the same name but other arguments."""

    @property
    def missing(self) -> list[str]:
        """The names of the expected calls without an actual call."""
        return [call.name for e, call in enumerate(self.wanted) if e not in self.pairs and e not in self.wrong]

    @property
    def extras(self) -> list[str]:
        """The names of the actual calls without an expected call."""
        taken = {*self.pairs.values(), *self.wrong.values()}
        return [call.name for c, call in enumerate(self.calls) if c not in taken]

    def detail(self) -> dict[str, Any]:
        """Return the match as plain data."""
        return {
            "matched": len(self.pairs),
            "total": len(self.wanted),
            "pairs": [{"name": self.calls[c].name, "expected": e, "call": c} for e, c in self.pairs.items()],
            "wrong_arguments": [
                {
                    "name": self.calls[c].name,
                    "expected": e,
                    "call": c,
                    "arguments": {
                        "expected": describe_data(self.wanted[e].arguments),
                        "found": describe_data(self.calls[c].arguments),
                    },
                }
                for e, c in self.wrong.items()
            ],
            "missing": self.missing,
            "extras": self.extras,
        }


def _match_calls(
    wanted: Sequence[ExpectedCall], calls: Sequence[ToolCall], same: Comparator, ordered: bool
) -> _CallMatch:
    def alike(e: int, c: int) -> bool:
        return wanted[e].name == calls[c].name

    def fits(e: int, c: int) -> bool:
        arguments = wanted[e].arguments
        return alike(e, c) and (arguments is None or bool(same(arguments, calls[c].arguments)))

    if ordered:
        # No number of calls with wrong arguments outweighs one with the right ones.
        right = min(len(wanted), len(calls)) + 1
        both = best_ordered_pairs(len(wanted), len(calls), lambda e, c: right if fits(e, c) else int(alike(e, c)))
        pairs = {e: c for e, c in both.items() if fits(e, c)}
        wrong = {e: c for e, c in both.items() if e not in pairs}
    else:
        pairs = maximum_pairs(len(wanted), len(calls), fits)
        rest = [e for e in range(len(wanted)) if e not in pairs]
        free = [c for c in range(len(calls)) if c not in pairs.values()]
        named = maximum_pairs(len(rest), len(free), lambda e, c: alike(rest[e], free[c]))
        wrong = {rest[e]: free[c] for e, c in named.items()}
    return _CallMatch(wanted=wanted, calls=calls, same=same, pairs=pairs, wrong=wrong)


def _reason(found: _CallMatch, ordered: bool, refused: bool, failed: Sequence[str]) -> str:
    total, matched = len(found.wanted), len(found.pairs)
    if not total:
        made = f"but there was {_name_counts(found.extras)}" if found.extras else "and none was"
        return f"no tool was to be called, {made}"
    if not found.calls and not failed:
        return f"{count(total, 'call')} {'is' if total == 1 else 'are'} expected, and no tool was called"
    faults = [*_wrong_argument_faults(found), *_missing_call_faults(found, failed)]
    if refused:
        faults.append(f"not expected: {_name_counts(found.extras)}")
    if faults:
        return f"{matched:,} of {count(total, 'expected call')} {'was' if matched == 1 else 'were'} made: {'; '.join(faults)}"
    lead = "the expected call was made" if total == 1 else f"all {total:,} expected calls were made"
    besides = f", and also {_name_counts(found.extras)}" if found.extras else ""
    broken = f"; failed: {_name_counts(failed)}" if failed else ""
    return f"{lead}{' in order' if ordered and total > 1 else ''}{besides}{broken}"


def _wrong_argument_faults(found: _CallMatch) -> list[str]:
    return [
        f"call {c + 1}, {found.calls[c].name}, has other arguments: "
        + describe_difference(found.same, found.wanted[e].arguments, found.calls[c].arguments)
        for e, c in found.wrong.items()
    ]


def _missing_call_faults(found: _CallMatch, failed: Sequence[str]) -> list[str]:
    """Describe each tool that was not called, called too seldom, or called out of order."""
    expected_counts = Counter(call.name for call in found.wanted)
    made = Counter(call.name for call in found.calls)
    faults = []
    for name in dict.fromkeys(found.missing):
        if made[name] >= expected_counts[name]:
            faults.append(f"{name} was called, but out of order")
        elif made[name]:
            faults.append(f"{name} was called {made[name]:,} of {expected_counts[name]:,} times")
        else:
            faults.append(f"{name} was called and failed" if name in failed else f"{name} was not called")
    return faults


def _name_counts(names: Sequence[str]) -> str:
    """List names once each, with how often they occur."""
    times = Counter(names)
    return ", ".join(f"{name} ({number:,} times)" if number > 1 else name for name, number in times.items())
