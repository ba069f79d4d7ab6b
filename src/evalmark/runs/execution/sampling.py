"""Draws a random sample of the cases of a plan."""

import heapq
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.case import Case
from evalmark.core.values.run import Run, Sample
from evalmark.runs.planning.plan import Plan

from .options import RunOptions

SAMPLED = "Only a random sample of the cases: "
"""The beginning of the note on a run of a sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSample:
    """The cases of a sample."""

    sample: Sample
    ids: Mapping[str, Collection[str]]
    """The ids of the sampled cases of each dataset."""
    unreadable: int = 0
    """Rows that could not be read, which are in no sample."""

    @property
    def note(self) -> str:
        """The note of a run of this sample."""
        return sample_note(self.sample, self.unreadable)


def sample_note(sample: Sample, unreadable: int = 0) -> str:
    """Return the note of a run of a sample, with the number of rows that could not be read."""
    left_out = f"; {count(unreadable, 'row')} that cannot be read left out" if unreadable else ""
    return f"{SAMPLED}{sample}{left_out}."


def draw_sample(plan: Plan, options: RunOptions) -> DrawnSample | None:
    """Draw the sample that the options select, by reading all datasets; None if they select none.

    A case is drawn by a hash of the seed and its id, so neither the order of the rows nor other rows decide which of two
    cases is drawn first.

    Raises:
        ConfigError: the selection cannot be sampled.
    """
    if options.sample is None:
        return None
    if faults := sample_faults(plan, options):
        raise ConfigError.of(faults)
    drawn: dict[str, Collection[str]] = {}
    total = unreadable = 0
    for source in plan.sources:
        keys: list[str] = []
        for row in source.read(lambda _: None):
            if not isinstance(row, Case):
                unreadable += 1
            elif options.only is None or options.only(row, source.info.name):
                keys.append(row.id)
        drawn[source.info.name] = frozenset(heapq.nsmallest(options.sample.size, keys, _order(options.sample.seed)))
        total += len(keys)
    taken = sum(map(len, drawn.values()))
    return DrawnSample(sample=replace(options.sample, taken=taken, of=total), ids=drawn, unreadable=unreadable)


def _order(seed: int) -> Callable[[str], bytes]:
    """Return the sort key that puts ids in the random order of a seed."""
    return lambda key: blake2b(f"{seed}/{key}".encode(errors="surrogatepass"), digest_size=16).digest()


def sample_faults(plan: Plan, options: RunOptions) -> list[str]:
    """Return why a selection of cases cannot be sampled, one sentence each."""
    if options.sample is None:
        return []
    faults = [
        f"{name} has to be a whole number of at least {least}; found {number!r}."
        for name, number, least in (("sample", options.sample.size, 1), ("seed", options.sample.seed, 0))
        if type(number) is not int or number < least
    ]
    if "conversation" in plan.modes:
        faults.append(
            f"{plan.suite or plan.name}: --sample draws single cases, but a metric here scores whole conversations."
        )
    if options.limit is not None:
        faults.append("--sample draws from all cases and -n takes the first ones; leave one of them out.")
    if options.shard is not None:
        faults.append("--sample and --shard cannot be combined; a sample is small enough for one run.")
    return faults


def resumed_sample(earlier: Run, sample: Sample | None) -> Sample | None:
    """Return the sample of a run that is resumed.

    Raises:
        ConfigError: another one is selected now.
    """
    recorded = None if earlier.sample is None else Sample(size=earlier.sample.size, seed=earlier.sample.seed)
    if sample not in (None, recorded):
        cases = "all selected cases" if recorded is None else f"a sample of {recorded}"
        raise ConfigError(
            f"run {earlier.id} covers {cases}, not a sample of {sample}; omit --sample, or omit --resume."
        )
    return recorded
