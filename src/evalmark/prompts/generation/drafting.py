"""Tests out of a model: for groups of rules, and for the prompt alone."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from evalmark.core.values.plain_data import canonical
from evalmark.core.values.words import count
from evalmark.prompts.specs.spec import PromptSpec, Rule
from evalmark.prompts.templates.prompt import Input, Scenario
from evalmark.scoring.judges.faults import describe_reply_value
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.template import one_line

from .asking import Asking, Sheet, Wrong, prompt_shown, shown
from .effort import Effort
from .rows import Draft, unfit, without_twins
from .stages import BASELINE_TESTS, TESTS
from .statements import TEXT, first_numbers
from .variables import described, inputs_schema, open_inputs, scenarios_of

T = TypeVar("T")
MOST_AT_ONCE = 20
"""Baseline tests of one call."""


class Group(NamedTuple):
    """Rules that are shown together, for one way in which the prompt is used."""

    scenario: Scenario
    rules: tuple[Rule, ...]


class Drafted(NamedTuple):
    """What came of a stage."""

    drafts: list[Draft]
    dropped: Counter[str]
    """Why tests were left out, with how many."""


def groups_of(spec: PromptSpec, effort: Effort) -> list[Group]:
    """What is asked for in calls of their own, in order."""
    chosen = [rule for number in first_numbers(spec, effort.max_rules) if (rule := spec.rule(number)) is not None]
    kinds = [[r for r in chosen if not r.inverse], [r for r in chosen if r.inverse]] if effort.split else [chosen]
    size = effort.max_rules_per_call
    chunks = [tuple(kind[at : at + size]) for kind in kinds for at in range(0, len(kind), size)]
    return [Group(scenario, chunk) for scenario in scenarios_of(spec.prompt) for chunk in chunks]


async def tests_of(asking: Asking, spec: PromptSpec, effort: Effort) -> Drafted:
    """Tests for each rule; groups are asked about side by side, generations one after the other."""
    parts = await side_by_side([_of_group(asking, spec, effort, group) for group in groups_of(spec, effort)])
    drafts = [draft for part in parts for draft in part.drafts]
    return _gathered(drafts, sum((part.dropped for part in parts), Counter()))


def _gathered(drafts: Sequence[Draft], dropped: Counter[str]) -> Drafted:
    kept = without_twins(drafts)
    twins = len(drafts) - len(kept)
    return Drafted(kept, dropped + Counter({"the same as another": twins} if twins else {}))


async def _of_group(asking: Asking, spec: PromptSpec, effort: Effort, group: Group) -> Drafted:
    drafts: list[Draft] = []
    dropped: Counter[str] = Counter()
    for generation in range(1, effort.generations + 1):
        sheet = _sheet(spec, effort, group, drafts)

        def read(found: Mapping[str, Any], generation: int = generation) -> Drafted | Wrong:
            return read_tests(found["tests"], spec, group, effort.tests_per_rule, generation)

        part = await asking.ask(TESTS, sheet, read)
        drafts += part.drafts
        dropped += part.dropped
    return Drafted(drafts, dropped)


def _sheet(spec: PromptSpec, effort: Effort, group: Group, earlier: Sequence[Draft]) -> Sheet:
    inputs = open_inputs(spec.prompt, group.scenario)
    row = {"rule": {"type": "integer"}, "reasoning": TEXT, "inputs": inputs_schema(inputs), "expected": TEXT}
    listed = (f"{rule.number}. {'INVERSE: ' if rule.inverse else ''}{rule.text}" for rule in group.rules)
    return Sheet(
        words="tests",
        key="tests",
        schema=_tests_schema(row),
        ours={
            "each": count(effort.tests_per_rule, "test"),
            "total": str(effort.tests_per_rule * len(group.rules)),
        },
        material={
            **prompt_shown(spec),
            **shown(
                intent=spec.intent,
                input_spec="\n".join(spec.input_spec),
                variables=described(inputs),
                scenario=_told(group.scenario),
                rules="\n".join(listed),
                earlier=_listed(earlier),
            ),
        },
    )


def _tests_schema(row: Mapping[str, Any]) -> dict[str, Any]:
    return object_schema({"tests": {"type": "array", "items": object_schema(row)}})


def _told(scenario: Scenario) -> str:
    fixed = f"Set already: {canonical(dict(scenario.parameters))}" if scenario.parameters else ""
    return "\n".join(filter(None, (scenario.name, scenario.instructions, fixed)))


def _listed(drafts: Sequence[Draft]) -> str:
    return "\n".join(canonical(dict(draft.inputs)) for draft in drafts)


def read_tests(said: Any, spec: PromptSpec, group: Group, each: int, generation: int) -> Drafted | Wrong:
    """The tests in a reply; those that cannot be asked are left out and counted.

    A reply that holds no test that can be asked is no reply.
    """
    if not isinstance(said, list):
        return Wrong(f"`tests` is {describe_reply_value(said)}, not a list")
    known = {rule.number: rule for rule in group.rules}
    drafts: list[Draft] = []
    dropped: Counter[str] = Counter()
    first = ""
    for place, row in enumerate(said, 1):
        found = _draft(row, spec, group.scenario, known, generation)
        if isinstance(found, Draft) and sum(draft.rule == found.rule for draft in drafts) >= each:
            dropped["more than asked for"] += 1
        elif isinstance(found, Draft):
            drafts.append(found)
        else:
            dropped[found.sentence] += 1
            first = first or f"test {place}: {found.sentence}"
    return Drafted(drafts, dropped) if drafts else Wrong(first or "`tests` is empty")


def _draft(row: Any, spec: PromptSpec, scenario: Scenario, known: Mapping[int, Rule], generation: int) -> Draft | Wrong:
    if not isinstance(row, Mapping):
        return Wrong(f"it is {describe_reply_value(row)}, not an object")
    number = row.get("rule")
    if isinstance(number, bool) or not isinstance(number, int) or number not in known:
        return Wrong(f"`rule` is {describe_reply_value(number)}, which is none of the numbers that were asked about")
    inputs = read_inputs(row.get("inputs"), spec, scenario)
    if isinstance(inputs, Wrong):
        return inputs
    return Draft(
        inputs=inputs,
        rule=known[number],
        reasoning=_line(row.get("reasoning")),
        expected=_line(row.get("expected")),
        scenario=scenario.name,
        generation=generation,
    )


def _line(said: Any) -> str:
    return one_line(said) if isinstance(said, str) else ""


def read_inputs(said: Any, spec: PromptSpec, scenario: Scenario) -> dict[str, Any] | Wrong:
    """The values of a test: each by its own name, and such as the prompt takes."""
    if not isinstance(said, Mapping):
        return Wrong(f"`inputs` is {describe_reply_value(said)}, not an object")
    wanted: Sequence[Input] = open_inputs(spec.prompt, scenario)
    missing = [known.name for known in wanted if said.get(known.name) is None]
    strange = [name for name in said if name not in {known.name for known in wanted}]
    if missing:
        return Wrong(f"`inputs` lacks `{missing[0]}`")
    if strange:
        names = ", ".join(f"`{known.name}`" for known in wanted)
        return Wrong(f"`inputs` holds a name for which no value was asked; the variables to give are {names}")
    inputs = {known.name: said[known.name] for known in wanted}
    wrong = unfit(spec, inputs, scenario)
    return inputs if wrong is None else Wrong(wrong)


def batches(total: int, size: int) -> list[int]:
    """A number in parts of at most `size`.

    >>> batches(45, 20)
    [20, 20, 5]
    """
    return [min(size, total - at) for at in range(0, total, size)]


async def baseline_of(asking: Asking, spec: PromptSpec, total: int) -> Drafted:
    """So many tests that a model writes for the prompt alone, without a look at its rules."""
    scenario = scenarios_of(spec.prompt)[0]
    inputs = open_inputs(spec.prompt, scenario)
    drafts: list[Draft] = []
    dropped: Counter[str] = Counter()
    for part in batches(total, MOST_AT_ONCE):
        sheet = Sheet(
            words="baseline_tests",
            key="tests",
            schema=_tests_schema({"inputs": inputs_schema(inputs)}),
            ours={"total": count(part, "test")},
            material={
                **prompt_shown(spec),
                **shown(variables=described(inputs), earlier=_listed(drafts)),
            },
        )
        read = partial(_read_part, spec, scenario, part)
        found = await asking.ask(BASELINE_TESTS, sheet, read)
        drafts += found.drafts
        dropped += found.dropped
    return _gathered(drafts, dropped)


def _read_part(spec: PromptSpec, scenario: Scenario, most: int, reply: Mapping[str, Any]) -> Drafted | Wrong:
    return read_baseline(reply["tests"], spec, scenario, most)


def read_baseline(said: Any, spec: PromptSpec, scenario: Scenario, most: int) -> Drafted | Wrong:
    """The tests in a reply that knows of no rules."""
    if not isinstance(said, list):
        return Wrong(f"`tests` is {describe_reply_value(said)}, not a list")
    found = [read_inputs(row.get("inputs") if isinstance(row, Mapping) else row, spec, scenario) for row in said[:most]]
    drafts = [Draft(inputs=one, scenario=scenario.name) for one in found if not isinstance(one, Wrong)]
    wrong = [one.sentence for one in found if isinstance(one, Wrong)]
    extra = Counter({"more than asked for": len(said) - most} if len(said) > most else {})
    return Drafted(drafts, Counter(wrong) + extra) if drafts else Wrong((*wrong, "`tests` is empty")[0])


async def side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """What each of them gives, in order; when one fails, the others are called off and it is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
