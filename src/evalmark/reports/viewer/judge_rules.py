"""The rules by which the judges of a run judged, as instructions for people."""

import re
from collections.abc import Iterator

from evalmark.core.errors import StoreError
from evalmark.core.text import display_text
from evalmark.core.values.call import Request
from evalmark.core.values.run import Run, metrics_for
from evalmark.core.values.score import Score
from evalmark.reports.viewer.urls.label_queue_query import MAX_INSTRUCTIONS
from evalmark.storage.queries.filter import ResultFilter

from .store_view import StoreView

_DATA = re.compile(r'^<data-([0-9a-f]{16,64}) name="[^\n]*>\n', re.MULTILINE)
"""The start of what a judge is shown of one output, between its heading and `</data-…>`."""
_FORM = re.compile(r"Reply with one JSON object[^\n]*\n(?:`reason` comes first: [^.\n]*\. )?")


def judge_rule(request: Request) -> str:
    """Return what a judge is asked about each output: its question without what it was shown of one output.

    Of a question that does not delimit what it shows, only the system message is the same for each output.

    >>> from evalmark.core.values.case import Turn
    >>> judge_rule(Request(messages=(Turn(role="system", content="Is it polite?"), Turn(role="user", content="Go away."))))
    'Is it polite?'
    """
    texts = {turn.role: display_text(turn.content) for turn in request.messages[:2]}
    question = texts.get("user", "")
    rule = _FORM.sub("", _without_data(question)) if _DATA.search(question) else texts.get("system", "")
    return rule.strip()[:MAX_INSTRUCTIONS]


def _without_data(question: str) -> str:
    r"""Leave out what the judge is shown of one output, with the lines directly above it, which are its heading.

    >>> _without_data('Polite?\n\nThe output:\n<data-0123456789abcdef name="output">\nHi\n</data-0123456789abcdef>\n\nWhy?')
    'Polite?\n\nWhy?'
    """
    kept, rest = [], f"{question}\n"
    while (data := _DATA.search(rest)) is not None:
        _, closed, after = rest[data.end() - 1 :].partition(f"\n</data-{data[1]}>\n")
        if not closed:
            break
        before, gap, _ = rest[: data.start()].rpartition("\n\n")
        kept.append(before + gap)
        rest = after.lstrip("\n")
    return "".join(kept) + rest.removesuffix("\n")


def judge_rules(view: StoreView, run: Run) -> dict[str, str]:
    """Return the rule of each judged metric of a run, as its calls for the first output record it."""
    numbers = view.browsing(run).numbers_with_output(ResultFilter())
    if not any(metric.judge for metric in run.metrics) or not len(numbers):
        return {}
    result = view.result(run, numbers[0])
    metrics = metrics_for(run.metrics, result.trial.dataset)
    rules: dict[str, str] = {}
    for score in result.scores:
        metric = metrics.get(score.name)
        if metric is not None and metric.judge and (metric.base or metric.name) not in rules:
            request = next(_requests(view, score), None)
            if request is not None and (rule := judge_rule(request)):
                rules[metric.base or metric.name] = rule
    return rules


def _requests(view: StoreView, score: Score) -> Iterator[Request]:
    """Yield the recorded requests of a score."""
    keys = score.detail.get("calls")
    for key in keys if isinstance(keys, list | tuple) else ():
        try:
            call = view.store.recordings.call(key) if isinstance(key, str) else None
        except StoreError:  # it cannot be read any more
            continue
        if call is not None:
            yield call.request
