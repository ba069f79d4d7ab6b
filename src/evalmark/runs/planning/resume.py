"""Whether a run can be resumed: with the same suite, and at least the same trials."""

from collections.abc import Iterator

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run, Shard

from .plan import Plan


def check_resumable(run: Run, plan: Plan, shard: Shard | None, *, limit: int | None, is_filtered: bool) -> None:
    """Check that a run belongs to a plan, and that resuming it leaves out nothing it was to run.

    Raises:
        ConfigError: it is not, or it would.
    """
    if not _is_same_suite(run, plan):
        raise ConfigError(
            f"run {run.id} belongs to {_called(run)}, not to {_called(plan)}; resume it with its own suite, "
            "or omit --resume."
        )
    if run.plan != plan.fingerprint:
        raise ConfigError(
            f"run {run.id} used a different target, scorers or model; resume it with the original ones, or omit --resume."
        )
    if str(run.shard) != str(shard):
        raise ConfigError(_other_share(run, shard))
    if narrowed := [*_repeats(run, plan), *_cases(run, shard, limit, is_filtered=is_filtered)]:
        raise ConfigError(
            f"run {run.id} was started with another selection ({'; '.join(narrowed)}); resume it with the original "
            "flags and suite, or omit --resume."
        )


def _is_same_suite(run: Run, plan: Plan) -> bool:
    """Return whether name or file is the same: a suite may be renamed or moved while it is edited."""
    return run.name == plan.name or (run.suite == plan.suite != "")


def _called(of: Run | Plan) -> str:
    return f"the suite {of.name!r} ({of.suite})" if of.suite else repr(of.name)


def _other_share(run: Run, shard: Shard | None) -> str:
    covered, selected = ("all cases" if one is None else f"shard {one}" for one in (run.shard, shard))
    advice = "omit --shard" if run.shard is None else f"use --shard {run.shard}"
    return f"run {run.id} covers {covered}, but the command selects {selected}; {advice}, or omit --resume."


def _repeats(run: Run, plan: Plan) -> Iterator[str]:
    """Yield a difference if there are fewer repeats than before; more of them leave nothing out."""
    if plan.repeat < run.repeat:
        yield f"each case {run.repeat} times, and now {plan.repeat} (--repeat)"


def _cases(run: Run, shard: Shard | None, limit: int | None, *, is_filtered: bool) -> Iterator[str]:
    """Yield how the selected cases differ; only a shard records its selection."""
    if run.shard is not None and shard is not None:
        if run.shard.limit != shard.limit:
            yield f"{_first(run.shard.limit)}, and now {_first(shard.limit)} (--limit)"
        if run.shard.only != shard.only:
            yield f"{_fitting(run.shard.only)}, and now {_fitting(shard.only)} (--filter)"
    elif not run.is_part:
        if limit is not None:
            yield f"all cases, and now {_first(limit)} (--limit)"
        if is_filtered:
            yield "all cases, and now some (--filter)"


def _first(limit: int | None) -> str:
    return "all cases" if limit is None else f"the first {limit:,} of each dataset"


def _fitting(only: tuple[str, ...]) -> str:
    return f"those with {' and '.join(only)}" if only else "all cases"
