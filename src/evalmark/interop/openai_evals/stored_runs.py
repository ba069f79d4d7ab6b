"""Make runs of the output items of the evals API, and check that evalmark's metrics give the stored verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.run import DatasetInfo, Metric, Run
from evalmark.core.values.score import Result, Score
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.import_result import ORIGIN
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.interop.shared.results import REST, native_score, result_from
from evalmark.scoring.binding.registry import resolve_scorer

from .api_objects import ApiObject
from .criteria import GRADER, EvalKeys
from .exporter import native_of
from .text_metrics import METRICS

Data = dict[str, Any]
DATASET = "cases"
"""The name of the dataset of an imported suite, `cases.jsonl`, as its runs have it."""
SUITE = "suite.yaml"
LEAST_AGREEMENT = 0.99
"""The share of stored verdicts that a metric has to give, else its import counts as a change."""
_SAME = 1e-3
"""How far a number may be from the stored one, which is rounded."""
_DETERMINISTIC = ("equals", "not-equals", "contains", "regex", "not-regex", GRADER)


class StoredEval(NamedTuple):
    """An eval whose runs are imported."""

    name: str
    keys: EvalKeys
    metrics: list[MetricDraft]
    criteria: Sequence[Any]


def runs_of(
    stored: StoredEval, runs: Sequence[ApiObject], items: Sequence[ApiObject], case_ids: Sequence[str]
) -> list[Run]:
    """Return a run for each run with output items, the oldest first; items without a run make one together."""
    known = {str(run.data.get("id")): run for run in runs}
    groups: dict[str, list[ApiObject]] = {name: [] for name in known}
    for item in items:
        name = str(item.data.get("run_id"))
        groups.setdefault(name if name in known else "", []).append(item)
    places = {name: number for number, name in enumerate(case_ids)}
    return [_run(stored, known.get(name), group, places) for name, group in groups.items() if group]


def _run(stored: StoredEval, run: ApiObject | None, items: Sequence[ApiObject], places: Mapping[str, int]) -> Run:
    target = _target(run)
    counts: dict[str, int] = {}
    results = []
    for item in items:
        native = native_of(item.data, DATASET, 0, None)
        case = stored.keys.case(dict_or_empty(item.data["datasource_item"]))
        number = counts[case["id"]] = counts.get(case["id"], -1) + 1
        native["case"] = case
        native["trial"] |= {
            "target": target if run is not None else _asked(native["trial"]["target"]),
            "position": places.get(case["id"], len(places)),
            "repeat": number,
        }
        if stored.keys.graded:
            native["output"] = {"value": dict_or_empty(item.data["datasource_item"]).get(stored.keys.graded)}
        native["scores"] = _scores(stored, list_or_empty(item.data.get("results")))
        native["output"] |= _usage(dict_or_empty(item.data.get("sample")))
        results.append(result_from(native, item.data.get(REST), item.place))
    results.sort(key=lambda result: (result.trial.position, result.trial.repeat))
    data = run.data if run is not None else items[0].data
    return Run(
        id="",
        name=stored.name,
        created=_date(data.get("created_at")),
        target=target,
        repeat=1 + max(result.trial.repeat for result in results),
        suite=SUITE,
        given_name=str(data.get("name") or "")[:100] if run is not None else "",
        metrics=_metrics(results, {draft.name: draft.judge for draft in stored.metrics}),
        datasets=(DatasetInfo(name=DATASET, rows=len({result.trial.case.id for result in results})),),
        notes=(f"{ORIGIN}{data.get('id')} of {_date(data.get('created_at'))[:10]}.",) if run is not None else (),
        results=results,
    )


def _date(seconds: Any) -> str:
    if not isinstance(seconds, int) or not 0 <= seconds < 1 << 34:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _target(run: ApiObject | None) -> str:
    """Return the model that a run asked, as a suite names it; empty for given outputs."""
    if run is None:
        return ""
    source = dict_or_empty(run.data["data_source"])
    deployed = dict_or_empty(source.get("target")).get("model")
    if isinstance(deployed, str) and deployed:
        return deployed if "/" in deployed else f"azure/{deployed}"
    return "" if source.get("type") == "jsonl" else _asked(str(source.get("model") or run.data.get("model") or ""))


def _asked(model: str) -> str:
    return model if not model or "/" in model else f"openai/{model}"


def _scores(stored: StoredEval, rows: Sequence[Any]) -> list[Data]:
    """Return the scores of an output item, named as the metrics of the suite; a grader's id ends the API's names."""
    ids = {str(dict_or_empty(one).get("id")): str(dict_or_empty(one).get("name")) for one in stored.criteria}
    names = [str(dict_or_empty(one).get("name")) for one in stored.criteria]
    found: list[Data] = []
    for row in (row for row in rows if isinstance(row, dict)):
        given = str(row.get("name") or row.get("metric") or row.get("type") or "score")
        prefixes = [name for name in names if given == name or given.startswith(f"{name}-")]
        name = ids.get(given) or max(prefixes, key=len, default=given)
        number = sum(one["name"] == name or one["name"].startswith(f"{name}-") for one in found)
        label = name if not number or prefixes.count(name) < 2 else f"{name}-{number + 1}"
        found.append(native_score(label, row.get("score"), row.get("passed"), row.get("reason")))
    return found


def _usage(sample: Data) -> Data:
    usage = dict_or_empty(sample.get("usage"))
    tokens = {
        "input_tokens": usage.get("prompt_tokens"),
        "output_tokens": usage.get("completion_tokens"),
        "cached_tokens": usage.get("cached_tokens"),
    }
    known = {name: value for name, value in tokens.items() if type(value) is int and value >= 0}
    return {"usage": known} if known else {}


def _metrics(results: Sequence[Result], judges: Mapping[str, str]) -> tuple[Metric, ...]:
    found: dict[str, Metric] = {}
    for score in (score for result in results for score in result.scores):
        found.setdefault(score.name, Metric(name=score.name, judge=judges.get(score.name, "")))
    return tuple(found.values())


def check_agreement(stored: StoredEval, runs: Sequence[Run], builder: ImportBuilder) -> None:
    """Compute the metrics without a model on the stored outputs, and record how many stored verdicts they give.

    A text metric with several definitions is imported in the one that gives the stored scores.
    """
    for number, draft in enumerate(stored.metrics):
        pairs = [
            (result, score)
            for run in runs
            for result in run.results
            for score in result.scores
            if score.name == draft.name and score.passed is not None and result.output.error is None
        ]
        if not pairs or draft.scorer not in _DETERMINISTIC:
            continue
        chosen, equal = max(((one, _agreeing(one, pairs)) for one in _variants(draft)), key=lambda found: sum(found[1]))
        stored.metrics[number] = chosen
        verdicts = sum(same for same in equal)
        line = f"gives {verdicts:,} of {len(pairs):,} stored verdicts ({verdicts / len(pairs):.1%})"
        what = f"metric {draft.name!r}"
        if verdicts >= LEAST_AGREEMENT * len(pairs):
            builder.part(what, "kept", line)
            continue
        first = pairs[equal.index(False)][0]
        builder.part(what, "changed", f"{line}; the first other one is at case {first.trial.case.id}")


def _variants(draft: MetricDraft) -> list[MetricDraft]:
    """Return a metric in each definition that the text metric of its grader has."""
    grader = dict_or_empty(draft.settings.get("grader"))
    names = [*METRICS.get(str(grader.get("evaluation_metric")), ())][1:]
    return [draft, *(replace(draft, settings={**draft.settings, "variant": name}) for name in names)]


def _agreeing(draft: MetricDraft, pairs: Sequence[tuple[Result, Score]]) -> list[bool]:
    """Tell for each stored score whether a metric gives its verdict, and for text metrics also its number."""
    try:
        scorer = resolve_scorer(draft.scorer, draft.settings)
    except EvalmarkError:
        return [False] * len(pairs)
    return [_agrees(scorer(result.trial.case, result.output), score, draft) for result, score in pairs]


def _agrees(found: Score, stored: Score, draft: MetricDraft) -> bool:
    if found.passed is not stored.passed:
        return False
    has_variants = dict_or_empty(draft.settings.get("grader")).get("type") == "text_similarity"
    return not has_variants or not is_number(stored.raw) or abs(float(found.raw) - stored.raw) <= _SAME
