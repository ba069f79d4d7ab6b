"""Terminal text of test generation: stages, coverage of rules, and planned calls."""

from collections.abc import Iterator, Sequence

from evalmark.core.money import calls, cost, tokens
from evalmark.core.text import count, one_line
from evalmark.core.values.spending import Spending, total_spending
from evalmark.prompts.generation.call_estimate import CallCount, format_total
from evalmark.prompts.generation.coverage import BrokenRules, Coverage, RuleCoverage
from evalmark.prompts.generation.pipeline import GenerationResult, StageResult
from evalmark.reports.text.numbers import GAP

WIDTH = 100
LEAST = 20
"""Least characters of a rule on a line."""
MOST_BAD = 5


def step_text(step: StageResult) -> str:
    """Describe one stage in a line."""
    return f"  {step.stage:<15} {step.outcome:<9} {one_line(str(step.path))}: {step.amount}"


def notes_text(account: GenerationResult) -> str:
    """List the notes on the files."""
    return "\n".join(f"  note: {one_line(note)}" for note in account.notes)


def spending_text(spent: Sequence[Spending]) -> str:
    """Show the spending by model; empty without calls."""
    rows = [*spent, total_spending(spent, "total")] if len(spent) > 1 else spent
    lines = ((one_line(one.model), filter(None, (calls(one), tokens(one), cost(one)))) for one in rows)
    return "\n".join(f"  {model}: {' · '.join(parts)}" for model, parts in lines)


def coverage_text(coverage: Coverage, width: int = WIDTH) -> str:
    """Show which rules have tests and which tests try to make a model break them; lines have `width` characters."""
    if coverage.path is None:
        return "  There are no tests yet; `evalmark generate` makes them."
    return "\n".join(
        [*_rules(coverage, width), "", *_figures(coverage), *(f"  note: {one_line(note)}" for note in coverage.notes)]
    )


def broken_text(coverage: Coverage, broken: BrokenRules) -> str:
    """List the tests that broke a rule in a run."""
    rules = [one.rule for one in coverage.rules if one.rule.text in broken.tests]
    if not rules:
        return f"  In run {broken.run} no test has broken a rule."
    lines = [f"    {rule.number}: {_ids(broken.tests[rule.text])}" for rule in rules]
    return "\n".join([f"  In run {broken.run} these tests have broken these rules:", *lines])


def _ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MOST_BAD} more" if len(ids) > MOST_BAD else ""
    return f"{', '.join(one_line(name, 40) for name in ids[:MOST_BAD])}{more}"


def _rules(coverage: Coverage, width: int) -> Iterator[str]:
    if not coverage.rules:
        yield "  There are no rules, so no test belongs to one."
        return
    digits = max(4, *(len(str(one.rule.number)) for one in coverage.rules))
    yield f"  {'rule':>{digits}}  tests  against"
    for one in coverage.rules:
        start, end = f"  {one.rule.number:>{digits}}  {len(one.tests):>5}  {_breaks(one):<7}  ", _marks(one)
        yield f"{start}{one_line(one.rule.text, max(LEAST, width - len(start) - len(end)))}{end}"


def _breaks(one: RuleCoverage) -> str:
    """Count the tests that try to make the prompt break a rule; name the rule of an inverse rule."""
    if one.rule.inverse:
        return GAP if one.opposite is None else f"→ {one.opposite}"
    return GAP if one.opposite is None else str(len(one.tempting))


def _marks(one: RuleCoverage) -> str:
    remarks = ["inverse"] if one.rule.inverse else []
    remarks += ["not supported by the prompt"] if one.grounded is False else []
    remarks += [f"{one.invalid} not valid"] if one.invalid else []
    remarks += ["no test"] if not one.tests else []
    return f" ({', '.join(remarks)})" if remarks else ""


def _figures(coverage: Coverage) -> Iterator[str]:
    total = coverage.valid + coverage.invalid + coverage.unjudged
    unknown = f", {coverage.unjudged} not checked" if coverage.unjudged else ""
    yield (
        f"  {count(total, 'test')}: {coverage.valid} valid, {coverage.invalid} not valid{unknown}; "
        f"{coverage.ungrounded} of rules that the prompt does not support; {coverage.counted} in the headline figure."
    )
    if coverage.uncovered:
        yield f"  Without a test: {'rule' if len(coverage.uncovered) == 1 else 'rules'} {_listed(coverage.uncovered)}."
    if coverage.loose:
        yield f"  {count(len(coverage.loose), 'test')} belong{'s' if len(coverage.loose) == 1 else ''} to no current rule."
    if coverage.baseline:
        yield f"  {count(coverage.baseline, 'baseline test')} for comparison."
    yield from (f"  cannot be run: {one_line(bad)}" for bad in coverage.bad[:MOST_BAD])
    if len(coverage.bad) > MOST_BAD:
        yield f"  … and {len(coverage.bad) - MOST_BAD} more rows that cannot be run."


def _listed(numbers: Sequence[int]) -> str:
    """Join numbers, with consecutive ones as ranges.

    >>> _listed([1, 2, 3, 5])
    '1 to 3, 5'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def count_text(counts: tuple[CallCount, ...]) -> str:
    """Show the calls each stage would make, and the total."""
    numbers = [f"{'' if one.exact else '~'}{one.calls:,}" for one in counts]
    width = max(map(len, numbers), default=0)
    lines = [
        f"  {one.stage:<15} {number:>{width}}{f'  {one.model}' if one.calls and one.model else ''}"
        for one, number in zip(counts, numbers, strict=True)
    ]
    return "\n".join([*lines, "", f"  {format_total(counts)[:1].upper()}{format_total(counts)[1:]}; no call was made."])
