"""Warnings about metrics, thresholds and gates that differ between two runs."""

import dataclasses
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evalmark.core.text import count
from evalmark.core.values.run import Gate, Run
from evalmark.scoring.binding.registry import scorer_names
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise

from .scoring_rules import RejudgedCounts, RuleChange, ScoringRules, align_rules

_NAMED = 3
"""Metrics that one sentence names."""
_OUTCOMES = {"pass": "passes", "fail": "fails", "cannot tell": "is undecided by"}


def rule_caveats(rules: ScoringRules) -> Iterator[str]:
    """Describe each change of metrics, thresholds and judges, and say what is compared in spite of it."""
    for only in ("run", "baseline"):
        names = [change.metric for change in rules.changes if change.only == only]
        if names:
            is_one = len(set(names)) == 1
            metrics, are = ("metric", "it is") if is_one else ("metrics", "they are")
            yield f"Only the {only} has the {metrics} {_listed(names)}; {are} not compared."
    several = {change.dataset for change in rules.changes}
    for (was, compared), changes in _grouped(change for change in rules.changes if not change.only).items():
        names = [change.metric + (f" ({change.dataset})" if len(several) > 1 else "") for change in changes]
        if compared == "nothing":
            it = "its" if len(set(names)) == 1 else "their"
            yield f"{_listed(names)}: {was}, so {it} scores are not compared."
        elif compared == "values":
            yield (
                f"{_listed(names)}: {was}, which cannot be applied to the stored scores of the baseline; "
                "means are compared, pass rates are not."
            )
        else:
            yield from (f"{name}: {was}. {_both(change.rejudged)}" for name, change in zip(names, changes, strict=True))
    for verdicts in rules.verdicts if len([change for change in rules.changes if not change.only]) != 1 else ():
        if (verdicts.then, verdicts.today) != (None, None) and verdicts.then != verdicts.today:
            said = _both(verdicts, "trial")
            yield f"All metrics together: {said[0].lower()}{said[1:]}"


@check_arguments
def gate_caveats(run: Run, baseline: Run, rules: ScoringRules | None = None) -> Iterator[str]:
    """What changed of the gate, and what each gate says of the baseline; the `rules` are found where they are not given."""
    rules = align_rules(run, baseline) if rules is None else rules
    was = list(_gate_changes(run.gate or Gate(), baseline.gate or Gate()))
    rejudged = any(change.rejudged for change in rules.changes)
    if baseline.shard is not None or not (was or rejudged):
        return
    then = apply_gate(summarise(baseline), baseline.gate).outcome
    is_known = not rules.left_out and baseline.until_decided is None
    today = apply_gate(summarise(_all_of(baseline, rules)), run.gate).outcome if is_known else None
    if was:
        verdict = f"The baseline {_OUTCOMES[then]} its own gate"
        by_newer = "" if today is None else f", and {_OUTCOMES[today]} the gate of the newer run"
        yield f"The gate has changed: {', '.join(was)}. {verdict}{by_newer}."
    elif today is not None and today != then:
        yield (
            f"The baseline {_OUTCOMES[then]} the gate with its own thresholds, "
            f"and {_OUTCOMES[today]} it with those of the newer run."
        )


def _all_of(baseline: Run, rules: ScoringRules) -> Run:
    """The baseline as the newer run judges, with the metrics that it alone has."""
    kept = {
        dataset: {name: rule for name, rule in found.items() if rule.kind != "left out"}
        for dataset, found in rules.of_baseline.items()
    }
    return replace(rules, of_run={}, of_baseline=kept).runs(baseline, baseline)[1]


def _gate_changes(now: Gate, before: Gate) -> Iterator[str]:
    for name in (field.name for field in dataclasses.fields(Gate)):
        new, old = getattr(now, name), getattr(before, name)
        if not isinstance(new, Mapping):
            new, old = {"": new}, {"": old}
        for key in dict.fromkeys((*old, *new)):
            if new.get(key) != old.get(key):
                called = f"{name}.{key}" if key else name
                yield f"{called} was {_bar(old.get(key))} and is now {_bar(new.get(key))}"


def rescore_command(run: Run, baseline: Run, rules: ScoringRules) -> str:
    """The command that judges the outputs of the older run, mostly the baseline, as the newer was judged.

    It is empty where no command can, or none has to. Suites and scorers are found as they are today, so that judging the
    newer run again would change nothing.
    """
    is_turned = bool(run.created and run.created < baseline.created)
    newer, older, alone = (baseline, run, "run") if is_turned else (run, baseline, "baseline")
    if not any(change.compared != "all" and change.only != alone for change in rules.changes):
        return ""
    words = ["evalmark", "rescore", older.id]
    if newer.suite:
        words += [] if newer.suite == older.suite else ["--suite", newer.suite]
    else:
        names = list(dict.fromkeys(metric.base or metric.name for metric in newer.metrics))
        if not names or not set(names) <= set(scorer_names()):
            return ""  # scorers that were handed over as objects
        words += [word for name in names for word in ("--metric", name)]
    judges, earlier = (list(dict.fromkeys(m.judge for m in one.metrics if m.judge)) for one in (newer, older))
    if judges != earlier:
        words += [word for name in judges for word in ("--judge", name)]
    return shlex.join(words)


def _grouped(changes: Iterable[RuleChange]) -> dict[tuple[str, str], list[RuleChange]]:
    """Changes of the same kind, once for each metric of each dataset."""
    found: dict[tuple[str, str], list[RuleChange]] = {}
    for change in changes:
        found.setdefault((change.was, change.compared), []).append(change)
    return found


def _both(found: RejudgedCounts | None, noun: str = "score") -> str:
    """How many scores or trials of the baseline pass by either rule."""
    if found is None or not found.n:
        return "The baseline has no score to which it applies."
    of = f"of {count(found.n, noun)} of the baseline"
    if found.today is None:
        return f"In the newer run they neither pass nor fail; {found.then:,} {of} passed."
    own = "none passes or fails" if found.then is None else f"{found.then:,}"
    passing = "passes" if found.today == 1 else "pass"
    return f"Under the threshold of the newer run, {found.today:,} {of} {passing}; under the baseline's own threshold, {own}."


def _listed(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(names))
    more = len(known) - _NAMED
    return ", ".join(known[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _bar(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
