"""The totals of a run for a list of runs, and its summary as a text that the store keeps."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from evalmark.core.lazy import LazyModule
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Run, RunTotals, TotalVerdict
from evalmark.stats.inference.argument_checks import check_arguments

from .gate import summary_and_verdict
from .summary import Summary

if TYPE_CHECKING:
    import msgspec
else:
    msgspec = LazyModule("msgspec")


@check_arguments
def run_totals(run: Run, summary: Summary | None = None) -> RunTotals:
    """Return the totals of a run; `summary` saves reading its results again."""
    summary, verdict = summary_and_verdict(run, summary)
    rate = summary.total.pass_rate
    ungated: TotalVerdict = "not gated" if run.metrics else "not scored"
    return RunTotals(
        verdict=verdict.outcome if verdict.gated else ungated,
        trials=summary.trials,
        passed=rate.passed,
        judged=rate.n,
        rate=rate.value,
        low=rate.interval.low,
        high=rate.interval.high,
    )


@check_arguments
def summary_text(summary: Summary) -> str:
    """Convert a summary to JSON, without its worst results and scores."""
    groups = tuple(
        replace(group, metrics=tuple(replace(metric, worst=()) for metric in group.metrics)) for group in summary.groups
    )
    fields, shape = _stored_form()
    content = {name: groups if name == "groups" else getattr(summary, name) for name in fields}
    return msgspec.json.encode({"shape": shape, **content}, enc_hook=_plain).decode()


@check_arguments
def summary_from(text: str) -> Summary | None:
    """Return the summary of a text of `summary_text`; None if the summaries of this version of evalmark have other fields."""
    fields, shape = _stored_form()
    try:
        data = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        if msgspec.json.decode(data.pop("shape", b"null")) != shape:
            return None
        values = {name: msgspec.json.decode(data[name], type=hint) for name, hint in fields.items()}
    except (msgspec.DecodeError, KeyError):
        return None
    return Summary(worst=(), **values)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(type(value))


@cache
def _stored_form() -> tuple[Mapping[str, Any], str]:
    """Return the types of all fields but the worst results, which have no single JSON form, and the hash of all their fields."""
    fields = {name: hint for name, hint in get_type_hints(Summary).items() if name != "worst"}
    schema = msgspec.json.schema(msgspec.defstruct("StoredSummary", [*fields.items()]))
    return fields, fingerprint(schema)
