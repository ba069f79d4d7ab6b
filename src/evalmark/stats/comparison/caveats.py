"""Warns about other differences between two runs that affect the verdict."""

from collections.abc import Iterable, Iterator, Sequence

from evalmark.core.embedding_modes import model_and_mode
from evalmark.core.text import count
from evalmark.core.values.run import SCORES_MOVED, Run

from .change import Matching, TargetChange
from .rule_caveats import gate_caveats, rule_caveats
from .scoring_rules import ScoringRules

SHOWN = 3
"""The largest number of ids in a warning."""


def warnings(
    run: Run,
    baseline: Run,
    changes: Sequence[TargetChange],
    targets: tuple[Sequence[str], Sequence[str]],
    rules: ScoringRules,
) -> tuple[str, ...]:
    """Return one sentence for each thing that changed besides the target."""
    return tuple(
        dict.fromkeys(
            [
                *_same_run(run, baseline, changes),
                *_order(run, baseline),
                *_unfinished(run, baseline),
                *_samples(run, baseline),
                *_datasets(run, baseline),
                *_targets(changes, targets, within_one=_is_one(run, baseline)),
                *(said for change in changes for said in _cases(change, run, baseline)),
                *rule_caveats(rules),
                *gate_caveats(run, baseline, rules),
                *_models(run, baseline),
                *_moved_scores(run, baseline),
            ]
        )
    )


def _is_one(run: Run, baseline: Run) -> bool:
    return run is baseline or bool(run.id and run.id == baseline.id)


def _same_run(run: Run, baseline: Run, changes: Sequence[TargetChange]) -> Iterator[str]:
    if run.id and changes and _is_one(run, baseline) and all(one.target == one.against for one in changes):
        yield f"{run.id} is compared with itself."


def _order(run: Run, baseline: Run) -> Iterator[str]:
    """Warn if the baseline is the newer run, since better and worse change places when two runs do.

    It may be meant: an older run that was rescored is newer than the run to compare with it.
    """
    if run.created and run.created < baseline.created:
        yield "The baseline is newer than the run. If that is not meant, name the newer run first."


def _moved_scores(run: Run, baseline: Run) -> Iterator[str]:
    """Repeat the notes of the runs on scores that have moved since a threshold was learned."""
    sides = ((run, "The run"), (baseline, "The baseline"))
    for one, called in sides[:1] if _is_one(run, baseline) else sides:
        yield from (f"{called}: {note}" for note in one.notes if SCORES_MOVED in note)


def _samples(run: Run, baseline: Run) -> Iterator[str]:
    """Say which samples the runs have, and which cases that leaves to compare."""
    if run.sample is None and baseline.sample is None:
        return
    if run.sample == baseline.sample:
        yield f"Both runs have only the same random sample of {run.sample}."
        return
    selections = ["all selected cases" if of.sample is None else f"a sample of {of.sample}" for of in (run, baseline)]
    yield f"The runs have different cases: {selections[0]}, and in the baseline {selections[1]}; only common cases are compared."


def _datasets(run: Run, baseline: Run) -> Iterator[str]:
    now, before = ([info.name for info in one.datasets] for one in (run, baseline))
    if now and before and not set(now) & set(before):
        yield f"The dataset was {_some(before)} and is now {_some(now)}."


def _unfinished(run: Run, baseline: Run) -> Iterator[str]:
    sides = ((run, "The run"), (baseline, "The baseline"))
    for one, called in sides[:1] if _is_one(run, baseline) else sides:
        if one.status != "complete":
            yield f"{called} {one.id} is {one.status}, so some of its cases may be missing."


def _targets(
    changes: Sequence[TargetChange], targets: tuple[Sequence[str], Sequence[str]], *, within_one: bool
) -> Iterator[str]:
    if not all(targets):
        yield f"There is no result to compare {_without(targets, within_one=within_one)}."
    elif not changes:
        yield "The two runs have no target in common, and one of them has several, so nothing can be compared."
    elif not within_one:  # otherwise the user has chosen both
        yield from _other_targets(changes, targets)


def _without(targets: tuple[Sequence[str], Sequence[str]], *, within_one: bool) -> str:
    """Name the side without a target."""
    if within_one:
        return "of one of the targets" if any(targets) else "of either target"
    empty = [called for names, called in zip(targets, ("the run", "the baseline"), strict=True) if not names]
    return f"in {' and '.join(empty)}"


def _other_targets(changes: Sequence[TargetChange], targets: tuple[Sequence[str], Sequence[str]]) -> Iterator[str]:
    for change in changes:
        if change.target != change.against:
            yield f"The target was {_named(change.against)} and is now {_named(change.target)}."
    for names, others, where in ((targets[0], targets[1], "the run"), (targets[1], targets[0], "the baseline")):
        alone = [name for name in names if name not in others]
        if alone and len(changes) != len(names):
            yield f"Only {where} has {_some(alone)}, which {'is' if len(alone) == 1 else 'are'} not compared."


def _cases(change: TargetChange, run: Run, baseline: Run) -> Iterator[str]:
    if _is_one(run, baseline) and change.target != change.against:
        return _cases_of_two(change)
    return _cases_of_runs(change.matching, run, baseline)


def _cases_of_two(change: TargetChange) -> Iterator[str]:
    """Warn if one of two targets of the same run was asked fewer cases."""
    matching = change.matching
    if not matching.common:
        yield "The two targets have no case in common."
    for ids, target in ((matching.new, change.target), (matching.gone, change.against)):
        if ids:
            they_are = "it is" if len(ids) == 1 else "they are"
            yield f"{count(len(ids), 'case')} ran only on {_named(target)}{_such_as(ids, matching)}; {they_are} not compared."


def _cases_of_runs(matching: Matching, run: Run, baseline: Run) -> Iterator[str]:
    if not matching.common:
        yield "The two runs have no case in common."
    if matching.edited:
        they_are = "it is" if len(matching.edited) == 1 else "they are"
        yield f"The content of {count(len(matching.edited), 'case')} changed ({_some(_titled(matching.edited, matching))}); {they_are} not compared."
    new, gone = matching.new, matching.gone
    for ids, one, called, other in ((gone, run, "run", "baseline"), (new, baseline, "baseline", "run")):
        if ids and one.status != "complete":
            yield (
                f"The {called} is not finished: {count(len(ids), 'case')} of the {other}{_such_as(ids, matching)} "
                f"{'has' if len(ids) == 1 else 'have'} no result in it, counted as missing."
            )
    new, gone = (new if baseline.status == "complete" else ()), (gone if run.status == "complete" else ())
    if new or gone:
        yield (
            f"{'The dataset has changed' if run.sample == baseline.sample else 'The samples differ'}: {count(len(new), 'case')} only in the run"
            f"{_such_as(new, matching)}, {len(gone):,} only in the baseline{_such_as(gone, matching)}; not compared."
        )
    if matching.renamed:
        yield f"{count(matching.renamed, 'case')} with another id and the same content: matched by content."


def _models(run: Run, baseline: Run) -> Iterator[str]:
    if run.embedder and baseline.embedder and run.embedder != baseline.embedder:
        (model, mode), (earlier, mode_then) = model_and_mode(run.embedder), model_and_mode(baseline.embedder)
        if model != earlier:
            yield "The embedding model has changed; differences in embedding metrics may come from the new model."
        else:
            yield (
                f"The embedding model ran in {mode_then} mode and now runs in {mode} mode; "
                "differences in embedding metrics may come from that."
            )
    if run.repeat != baseline.repeat:
        yield f"Each case ran {count(baseline.repeat, 'time')} in the baseline and {count(run.repeat, 'time')} in the run."


def _named(target: str) -> str:
    return target or "the outputs in the dataset"


def _some(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    rest = len(known) - SHOWN
    return ", ".join(known[:SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")


def _such_as(ids: Sequence[str], matching: Matching) -> str:
    return f" ({_some(_titled(ids, matching))})" if ids else ""


def _titled(ids: Iterable[str], matching: Matching) -> list[str]:
    return [matching.titles.get(key, key) for key in ids]
