"""Titles of runs, groups and trials, and short facts about them."""

from collections.abc import Callable, Iterable

from evalmark.core.case_titles import case_title
from evalmark.core.text import clean, count, one_line
from evalmark.core.values.run import Run
from evalmark.core.values.score import Trial
from evalmark.stats.summary.summarise import planned_trials
from evalmark.stats.summary.summary import REASONS, MetricSummary, Summary, SummaryGroup, describe_left_out

from .numbers import LONG_WAIT, duration, missing_interval_reason

_MOST_NAMED = 4
"""The largest number of targets whose names are listed; those of more would hide the other facts."""
_COMMIT = 10
"""Characters of a commit id."""


def without_repeats(names: Iterable[str]) -> list[str]:
    """Replace each name that repeats the previous one with an empty text.

    >>> without_repeats(["a", "a", "b", "a"])
    ['a', '', 'b', 'a']
    """
    found = list(names)
    return ["" if index and found[index - 1] == name else name for index, name in enumerate(found)]


CLUSTERED = ", clustered by "
"""The text in the name of a method that precedes the name of the cluster."""
_SHORTEST_TIME = 0.001
"""Seconds below which the time of a call says nothing about a target."""


def run_facts(run: Run, summary: Summary) -> list[str]:
    """Short facts about a run: target, trials, cases, judges, durations."""
    total = summary.total
    judges = list(dict.fromkeys(metric.judge for metric in run.metrics if metric.judge))
    targets = len(summary.by_target)
    target = f"{targets:,} targets" if targets > _MOST_NAMED else f"target {clean(run.target)}" if run.target else ""
    found = [target, *trial_counts(summary)]
    cases = total.cases + (summary.left_out.cases if summary.left_out else 0)
    if cases != summary.trials:
        found.append(count(cases, "case"))
    if judges:
        found.append(f"{'judge' if len(judges) == 1 else 'judges'} {one_line(', '.join(judges))}")
    if total.seconds_median is not None and (total.seconds_p95 or 0) >= _SHORTEST_TIME:
        found.append(f"{duration(total.seconds_median)} median, {duration(total.seconds_p95)} p95")
        if total.waited_median is not None and total.waited_median >= LONG_WAIT:
            found.append(f"{duration(total.waited_median)} median waiting (queues, limits, start-up)")
    return [fact for fact in found if fact]


def trial_counts(summary: Summary) -> list[str]:
    """Count the trials, and those left out of the headline with the reasons."""
    beside = summary.left_out
    why = f"{beside.trials:,} of them left out of the headline ({describe_left_out(summary.reasons)})" if beside else ""
    planned = summary.trials + (summary.missing or 0)
    return [trials_of(summary.trials, planned), *([why] if why else [])]


def trials_of(trials: int, planned: int | None) -> str:
    """Count trials, and the planned ones if there are more.

    >>> trials_of(312, 1000), trials_of(1, 1), trials_of(2, None)
    ('312 of 1,000 trials', '1 trial', '2 trials')
    """
    return (
        count(trials, "trial") if planned is None or planned <= trials else f"{trials:,} of {count(planned, 'trial')}"
    )


def planned_of(run: Run, trials: int) -> int | None:
    """Return the planned number of trials of a run that is not complete; None if it is unknown or was exceeded."""
    planned = None if run.status == "complete" else planned_trials(run, len(run.target.split(", ")))
    return None if planned is None or trials > planned else planned


def run_origin(run: Run) -> list[str]:
    """Id, start time, commit, name, tags and status of a run."""
    when = one_line(run.created).replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC")
    commit = [f"commit {short_commit(run)}"] if run.revision else []
    names = [f"name {run.given_name}"] if run.given_name else []
    names += [f"tags {one_line(' '.join(run.tags), 200)}"] if run.tags else []
    return [f"run {one_line(run.id)}", when, *commit, *names, *([] if run.status == "complete" else [run.status])]


def short_commit(run: Run) -> str:
    """Shorten the commit of a run, with `+` if files had changed."""
    changed = "+" if run.revision.endswith("+") else ""
    return one_line(run.revision.removesuffix("+"))[:_COMMIT] + changed


def group_title(group: SummaryGroup, summary: Summary) -> str:
    """Title of a group, with the reason if it is left out of the headline."""
    return group_place(group, summary) + exclusion_text(group)


def group_place(group: SummaryGroup, summary: Summary) -> str:
    """Name a group by dataset, by target if there are several, and by mode."""
    several = len({other.target for other in summary.groups}) > 1
    parts = [group.dataset or "cases", group.target if several else ""]
    turns = ", turn by turn" if group.mode == "conversation" else ""
    return " on ".join(one_line(part) for part in parts if part) + turns


def exclusion_text(group: SummaryGroup) -> str:
    """Reason why a group is left out of the headline; empty if it counts."""
    return f", left out of the headline: {REASONS[group.left_out]}" if group.left_out else ""


def metric_table_notes(metrics: Iterable[MetricSummary]) -> str:
    """Explain a table of metrics: by what intervals are clustered, why some are missing, and the sign ↓; may be empty."""
    metrics = list(metrics)
    intervals = [metric.interval for metric in metrics if metric.n]
    units = sorted({one.method.rpartition(CLUSTERED)[2] for one in intervals if CLUSTERED in one.method})
    reasons = sorted({missing_interval_reason(one) for one in intervals if not one.known})
    notes = [f"95 % intervals are clustered by {one_line(', '.join(units), 80)}."] if units else []
    notes += [f"No interval: {'; '.join(reasons)}."] if reasons else []
    notes += ["↓ lower is better."] if any(metric.direction == "lower" for metric in metrics) else []
    return " ".join(notes)


def trial_title(trial: Trial, run: Run | None = None, title_of: Callable[[str, object, int], str] = case_title) -> str:
    """Return the title of a trial: that of its case, and what tells the trial from others of the case.

    With `run`, dataset and target are named if the run has several. `title_of` gives the title of the case.

    >>> from evalmark.core.values.case import Case
    >>> trial_title(Trial(case=Case(id="a"), target="m/b", repeat=1), Run(id="1", name="x", created="", target="m/b, m/a"))
    'a (m/b, repeat 2)'
    """
    # Where each dataset has a target of its own, the dataset says which.
    has_targets = run is not None and ", " in run.target and not any(info.plan for info in run.datasets)
    more = [
        trial.dataset if run is not None and len(run.datasets) > 1 else "",
        trial.target if has_targets else "",
        f"turn {trial.position + 1}" if trial.mode == "conversation" else "",
        f"repeat {trial.repeat + 1}" if trial.repeat else "",
    ]
    details = ", ".join(part for part in more if part)
    title = title_of(trial.case.id, trial.case.input, trial.position)
    return one_line(f"{title} ({details})" if details else title, 400)
