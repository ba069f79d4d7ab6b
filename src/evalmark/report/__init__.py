"""Reports: functions from a run to text. They open no file, read no store and print nothing."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .cases import one_case
    from .cleaning import clean
    from .digest import as_markdown
    from .document import as_json, as_jsonl
    from .forecast import Forecast, MetricForecast, ModelForecast, plan
    from .junit import as_junit
    from .listing import run_list
    from .options import Look, Options, Writer
    from .page import as_html
    from .recorded import recorded_calls, recorded_models
    from .screen import terminal
    from .sheet import as_csv
    from .transcript import one_call
    from .writers import WRITERS, writer_for

__all__ = [
    "WRITERS",
    "Forecast",
    "Look",
    "MetricForecast",
    "ModelForecast",
    "Options",
    "Writer",
    "as_csv",
    "as_html",
    "as_json",
    "as_jsonl",
    "as_junit",
    "as_markdown",
    "clean",
    "one_call",
    "one_case",
    "plan",
    "recorded_calls",
    "recorded_models",
    "run_list",
    "terminal",
    "writer_for",
]

__getattr__ = deferred(
    __name__,
    {
        "Forecast": "forecast",
        "Look": "options",
        "MetricForecast": "forecast",
        "ModelForecast": "forecast",
        "Options": "options",
        "WRITERS": "writers",
        "Writer": "options",
        "as_csv": "sheet",
        "as_html": "page",
        "as_json": "document",
        "as_jsonl": "document",
        "as_junit": "junit",
        "as_markdown": "digest",
        "clean": "cleaning",
        "one_call": "transcript",
        "one_case": "cases",
        "plan": "forecast",
        "recorded_calls": "recorded",
        "recorded_models": "recorded",
        "run_list": "listing",
        "terminal": "screen",
        "writer_for": "writers",
    },
)
