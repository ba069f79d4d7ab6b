"""Run report as JUnit XML."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from evalmark.core.case_titles import CaseTitles
from evalmark.core.money import spent_lines
from evalmark.core.text import clean, cut, display_text, one_line, unwrap_single_input
from evalmark.core.values.plain_data import finite_number
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result
from evalmark.reports.text.titles import trial_title
from evalmark.reports.text.transcripts import steps, tokens_used
from evalmark.reports.text.verdicts import verdict_reasons
from evalmark.stats.summary.collection import left_out
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.summary import REASONS, Summary, SummaryGroup

from .options import DEFAULT_OPTIONS, ReportOptions

_LONGEST = 64_000
"""Longest text of an element in characters; CI servers hold the whole file in memory."""


def as_junit(run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """Yield a test suite per dataset, a test case per trial, and one for the gate."""
    summary, verdict = summary_and_verdict(run, summary)
    gate = _gate_counts(verdict)
    counts = _counts(summary.groups)
    whole = {name: number + gate[name] for name, number in counts.items()}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes({'name': one_line(run.name) or 'evalmark', **whole})}>\n"
    titles = CaseTitles()
    for dataset, results in groupby(run.results, key=lambda result: result.trial.dataset):
        groups = [group for group in summary.groups if group.dataset == dataset]
        yield _suite_start(dataset, groups, run, options)
        metrics = metrics_for(run.metrics, dataset)
        for result in results:
            yield _case(result, metrics, options, titles)
        yield "  </testsuite>\n"
    yield f"  <testsuite{_attributes({'name': 'gate', **gate})}>\n"
    yield from _gate_case(verdict, _spending_properties(run) if options.times else "")
    yield "  </testsuite>\n</testsuites>\n"


def _suite_start(dataset: str, groups: Iterable[SummaryGroup], run: Run, options: ReportOptions) -> str:
    attributes: dict[str, object] = {"name": one_line(dataset) or "cases", **_counts(groups)}
    if options.times and len(run.created) >= len("2026-11-21T10:15:00"):
        attributes["timestamp"] = run.created[:19]
    return f"  <testsuite{_attributes(attributes)}>\n"


def _counts(groups: Iterable[SummaryGroup]) -> dict[str, int]:
    """Count test cases by ending; those left out of the headline count as skipped."""
    counts = Counter[str](tests=0, failures=0, errors=0, skipped=0)
    for group in groups:
        tally = group.tally
        counts["tests"] += tally.trials
        if group.left_out:
            counts["skipped"] += tally.trials
        else:
            counts.update(
                failures=tally.failed,
                errors=tally.errors,
                skipped=tally.unscored + (0 if group.metrics else tally.ungated),
            )
    return dict(counts)


def _case(result: Result, metrics: Mapping[str, Metric], options: ReportOptions, titles: CaseTitles) -> str:
    trial, seconds = result.trial, finite_number(result.output.seconds)
    attributes = {"classname": ".".join(filter(None, (one_line(trial.dataset) or "cases", one_line(trial.target))))}
    attributes["name"] = trial_title(result.trial, title_of=titles)
    if options.times and seconds is not None:
        attributes["time"] = f"{seconds:z.3f}"
    inner = [_properties(result), _ending(result, metrics)]
    if result.verdict != "pass":
        inner.append(_element("system-out", _case_details(result, options)))
    return f"    <testcase{_attributes(attributes)}>\n{''.join(inner)}    </testcase>\n"


def _properties(result: Result) -> str:
    case = result.trial.case
    lines = [f"        <property{_attributes({'name': 'case', 'value': case.id})}/>\n"] if case.has_generated_id else []
    for score in result.scores:
        value = finite_number(score.value)
        text = score.status if score.status != "scored" else one_line(score.raw if value is None else value, 200)
        lines.append(f"        <property{_attributes({'name': f'score.{one_line(score.name)}', 'value': text})}/>\n")
    return f"      <properties>\n{''.join(lines)}      </properties>\n" if lines else ""


def _ending(result: Result, metrics: Mapping[str, Metric]) -> str:
    verdict = result.verdict
    reasons = [] if verdict in ("pass", "ungated") else verdict_reasons(result, metrics)
    if verdict == "ungated" and not metrics and not result.scores:
        return f"      <skipped{_attributes({'message': 'not scored: the run has no metrics'})}/>\n"
    if (left_out_reason := left_out(result.trial.case)) is not None:
        message = one_line(
            "; ".join([f"left out of the headline ({REASONS[left_out_reason]}): {verdict}", *reasons]), 500
        )
        return f"      <skipped{_attributes({'message': message})}/>\n"
    if verdict in ("pass", "ungated"):
        return ""
    message = one_line("; ".join(reasons), 500)
    if verdict == "unscored":
        return f"      <skipped{_attributes({'message': message})}/>\n"
    tag = {"fail": "failure", "error": "error"}[verdict]
    attributes = {"message": message, "type": "score" if verdict == "fail" else "error"}
    return f"      <{tag}{_attributes(attributes)}>{_body(chr(10).join(reasons))}</{tag}>\n"


def _case_details(result: Result, options: ReportOptions) -> str:
    case, usage = result.trial.case, result.output.usage
    rows = [("input", unwrap_single_input(case.input)), ("expected", case.expected), ("output", result.output.value)]
    rows += [(step.speaker, step.text) for step in steps(result.output, result.trial.case.input, times=options.times)]
    if options.times and usage is not None:
        rows.append(("tokens", tokens_used(usage)))
    return "\n".join(f"{name}: {cut(display_text(value), _LONGEST)}" for name, value in rows if value is not None)


def _gate_counts(verdict: GateVerdict) -> dict[str, int]:
    return {
        "tests": 1,
        "failures": int(verdict.outcome == "fail"),
        "errors": int(verdict.outcome == "cannot tell"),
        "skipped": int(not verdict.scored),
    }


def _spending_properties(run: Run) -> str:
    lines = [
        f"        <property{_attributes({'name': f'spent.{model}', 'value': spending})}/>\n"
        for model, spending in spent_lines(run)
    ]
    return f"      <properties>\n{''.join(lines)}      </properties>\n" if lines else ""


def _gate_case(verdict: GateVerdict, properties: str) -> Iterator[str]:
    if verdict.outcome == "pass" and verdict.scored and not properties:
        yield '    <testcase classname="evalmark" name="gate"/>\n'
        return
    yield f'    <testcase classname="evalmark" name="gate">\n{properties}'
    if not verdict.scored:
        yield f"      <skipped{_attributes({'message': ' '.join(verdict.reasons)})}/>\n"
    elif verdict.outcome != "pass":
        tag = "failure" if verdict.outcome == "fail" else "error"
        attributes = {"message": one_line(" ".join(verdict.reasons), 500), "type": "gate"}
        yield f"      <{tag}{_attributes(attributes)}>{_body(chr(10).join(verdict.reasons))}</{tag}>\n"
    yield "    </testcase>\n"


def _element(tag: str, text: str) -> str:
    return f"      <{tag}>{_body(text)}</{tag}>\n"


def _body(text: str) -> str:
    return escape(clean(cut(text, _LONGEST)))


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in values.items())
