"""Generates tests with a model: for groups of rules, and for the prompt alone."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from evalmark.core.text import count
from evalmark.core.values.plain_data import canonical
from evalmark.prompts.specs.spec import PromptRule, PromptSpec
from evalmark.prompts.templates.prompt import Input, Scenario
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.replies import ReplyFault, describe_reply_value
from evalmark.scoring.judges.template import one_line

from .effort import Effort
from .rows import GeneratedTest, input_problem, unique_drafts
from .stage_calls import StageModels, StageQuestion, prompt_slots, untrusted_slots
from .stages import BASELINE_TESTS, TESTS
from .statements import TEXT, first_numbers
from .variables import describe_inputs, inputs_schema, open_inputs, scenarios_of

T = TypeVar("T")
MAX_BASELINE_BATCH = 20
"""Baseline tests per call."""


class RuleGroup(NamedTuple):
    """Rules that are shown together, for one scenario."""

    scenario: Scenario
    rules: tuple[PromptRule, ...]


class DraftedTests(NamedTuple):
    """The generated tests of a stage."""

    drafts: list[GeneratedTest]
    dropped: Counter[str]
    """Why tests were left out, with counts."""


def rule_groups(spec: PromptSpec, effort: Effort) -> list[RuleGroup]:
    """Return the groups that get calls of their own, in order."""
    chosen = [rule for number in first_numbers(spec, effort.max_rules) if (rule := spec.rule(number)) is not None]
    kinds = [[r for r in chosen if not r.inverse], [r for r in chosen if r.inverse]] if effort.split else [chosen]
    size = effort.max_rules_per_call
    chunks = [tuple(kind[at : at + size]) for kind in kinds for at in range(0, len(kind), size)]
    return [RuleGroup(scenario, chunk) for scenario in scenarios_of(spec.prompt) for chunk in chunks]


async def draft_tests(models: StageModels, spec: PromptSpec, effort: Effort) -> DraftedTests:
    """Generate tests for each rule; groups run concurrently, generations one after the other."""
    parts = await gather_all([_of_group(models, spec, effort, group) for group in rule_groups(spec, effort)])
    drafts = [draft for part in parts for draft in part.drafts]
    return _without_duplicates(drafts, sum((part.dropped for part in parts), Counter()))


def _without_duplicates(drafts: Sequence[GeneratedTest], dropped: Counter[str]) -> DraftedTests:
    unique = unique_drafts(drafts)
    duplicates = len(drafts) - len(unique)
    return DraftedTests(unique, dropped + Counter({"duplicates of another": duplicates} if duplicates else {}))


async def _of_group(models: StageModels, spec: PromptSpec, effort: Effort, group: RuleGroup) -> DraftedTests:
    drafts: list[GeneratedTest] = []
    dropped: Counter[str] = Counter()
    for generation in range(1, effort.generations + 1):
        question = _question(spec, effort, group, drafts)
        read = partial(parse_tests, spec, group, effort.tests_per_rule, generation)
        part = await models.ask(TESTS, question, read)
        drafts += part.drafts
        dropped += part.dropped
    return DraftedTests(drafts, dropped)


def _question(spec: PromptSpec, effort: Effort, group: RuleGroup, earlier: Sequence[GeneratedTest]) -> StageQuestion:
    inputs = open_inputs(spec.prompt, group.scenario)
    row = {"rule": {"type": "integer"}, "reasoning": TEXT, "inputs": inputs_schema(inputs), "expected": TEXT}
    listed = (f"{rule.number}. {'INVERSE: ' if rule.inverse else ''}{rule.text}" for rule in group.rules)
    return StageQuestion(
        texts="tests",
        key="tests",
        schema=_tests_schema(row),
        trusted={
            "each": count(effort.tests_per_rule, "test"),
            "total": str(effort.tests_per_rule * len(group.rules)),
        },
        material={
            **prompt_slots(spec),
            **untrusted_slots(
                intent=spec.intent,
                input_spec="\n".join(spec.input_spec),
                variables=describe_inputs(inputs),
                scenario=_scenario_text(group.scenario),
                rules="\n".join(listed),
                earlier=_listed(earlier),
            ),
        },
    )


def _tests_schema(row: Mapping[str, Any]) -> dict[str, Any]:
    return object_schema({"tests": {"type": "array", "items": object_schema(row)}})


def _scenario_text(scenario: Scenario) -> str:
    fixed = f"Set already: {canonical(dict(scenario.parameters))}" if scenario.parameters else ""
    return "\n".join(filter(None, (scenario.name, scenario.instructions, fixed)))


def _listed(drafts: Sequence[GeneratedTest]) -> str:
    return "\n".join(canonical(dict(draft.inputs)) for draft in drafts)


def parse_tests(
    spec: PromptSpec, group: RuleGroup, each: int, generation: int, reply: Mapping[str, Any]
) -> DraftedTests | ReplyFault:
    """Return the tests in a reply; invalid ones are left out and counted.

    A reply without a valid test is unusable.
    """
    value = reply["tests"]
    if not isinstance(value, list):
        return ReplyFault(f"`tests` is {describe_reply_value(value)}, not a list")
    rules = {rule.number: rule for rule in group.rules}
    drafts: list[GeneratedTest] = []
    dropped: Counter[str] = Counter()
    first = ""
    for place, row in enumerate(value, 1):
        found = _draft(row, spec, group.scenario, rules, generation)
        if isinstance(found, GeneratedTest) and sum(draft.rule == found.rule for draft in drafts) >= each:
            dropped["more than requested"] += 1
        elif isinstance(found, GeneratedTest):
            drafts.append(found)
        else:
            dropped[found.sentence] += 1
            first = first or f"test {place}: {found.sentence}"
    return DraftedTests(drafts, dropped) if drafts else ReplyFault(first or "`tests` is empty")


def _draft(
    row: Any, spec: PromptSpec, scenario: Scenario, rules: Mapping[int, PromptRule], generation: int
) -> GeneratedTest | ReplyFault:
    if not isinstance(row, Mapping):
        return ReplyFault(f"it is {describe_reply_value(row)}, not an object")
    number = row.get("rule")
    if isinstance(number, bool) or not isinstance(number, int) or number not in rules:
        return ReplyFault(f"`rule` is {describe_reply_value(number)}, not the number of a rule in the question")
    inputs = parse_inputs(row.get("inputs"), spec, scenario)
    if isinstance(inputs, ReplyFault):
        return inputs
    return GeneratedTest(
        inputs=inputs,
        rule=rules[number],
        reasoning=_line(row.get("reasoning")),
        expected=_line(row.get("expected")),
        scenario=scenario.name,
        generation=generation,
    )


def _line(value: Any) -> str:
    return one_line(value) if isinstance(value, str) else ""


def parse_inputs(value: Any, spec: PromptSpec, scenario: Scenario) -> dict[str, Any] | ReplyFault:
    """Return the input values of a test, if the prompt accepts them."""
    if not isinstance(value, Mapping):
        return ReplyFault(f"`inputs` is {describe_reply_value(value)}, not an object")
    inputs_to_set: Sequence[Input] = open_inputs(spec.prompt, scenario)
    missing = [variable.name for variable in inputs_to_set if value.get(variable.name) is None]
    strange = [name for name in value if name not in {variable.name for variable in inputs_to_set}]
    if missing:
        return ReplyFault(f"`inputs` lacks `{missing[0]}`")
    if strange:
        names = ", ".join(f"`{variable.name}`" for variable in inputs_to_set)
        return ReplyFault(f"`inputs` has an unknown name; the variables are {names}")
    inputs = {variable.name: value[variable.name] for variable in inputs_to_set}
    wrong = input_problem(spec, inputs, scenario)
    return inputs if wrong is None else ReplyFault(wrong)


def batches(total: int, size: int) -> list[int]:
    """Split a number into parts of at most `size`.

    >>> batches(45, 20)
    [20, 20, 5]
    """
    return [min(size, total - at) for at in range(0, total, size)]


async def draft_baseline(models: StageModels, spec: PromptSpec, total: int) -> DraftedTests:
    """Generate `total` tests from the prompt alone, without its rules."""
    scenario = scenarios_of(spec.prompt)[0]
    inputs = open_inputs(spec.prompt, scenario)
    drafts: list[GeneratedTest] = []
    dropped: Counter[str] = Counter()
    for part in batches(total, MAX_BASELINE_BATCH):
        question = StageQuestion(
            texts="baseline_tests",
            key="tests",
            schema=_tests_schema({"inputs": inputs_schema(inputs)}),
            trusted={"total": count(part, "test")},
            material={
                **prompt_slots(spec),
                **untrusted_slots(variables=describe_inputs(inputs), earlier=_listed(drafts)),
            },
        )
        found = await models.ask(BASELINE_TESTS, question, partial(parse_baseline, spec, scenario, part))
        drafts += found.drafts
        dropped += found.dropped
    return _without_duplicates(drafts, dropped)


def parse_baseline(
    spec: PromptSpec, scenario: Scenario, most: int, reply: Mapping[str, Any]
) -> DraftedTests | ReplyFault:
    """Return the tests in a reply to a question without rules."""
    value = reply["tests"]
    if not isinstance(value, list):
        return ReplyFault(f"`tests` is {describe_reply_value(value)}, not a list")
    found = [
        parse_inputs(row.get("inputs") if isinstance(row, Mapping) else row, spec, scenario) for row in value[:most]
    ]
    drafts = [GeneratedTest(inputs=one, scenario=scenario.name) for one in found if not isinstance(one, ReplyFault)]
    wrong = [one.sentence for one in found if isinstance(one, ReplyFault)]
    extra = Counter({"more than requested": len(value) - most} if len(value) > most else {})
    return DraftedTests(drafts, Counter(wrong) + extra) if drafts else ReplyFault((*wrong, "`tests` is empty")[0])


async def gather_all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines concurrently and return their results in order; if one fails, cancel the others and raise."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
