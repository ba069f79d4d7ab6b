"""What the terminal shows: functions from runs, trials, calls and plans to text. They print nothing."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .accounts import account
    from .audit import audit_screen, canary_screen
    from .calibration import calibration_screen
    from .call import one_call, one_tool_call
    from .cases import one_case
    from .compared import comparison
    from .drawing import Look
    from .eval_table import evals
    from .forecast import Forecast, MetricForecast, ModelForecast, plan
    from .listing import run_list
    from .recorded import recorded_calls, recorded_models
    from .screen import terminal
    from .sessions import labels_said, one_session, one_span, session_list
    from .side_by_side import overview

__all__ = [
    "Forecast",
    "Look",
    "MetricForecast",
    "ModelForecast",
    "account",
    "audit_screen",
    "calibration_screen",
    "canary_screen",
    "comparison",
    "evals",
    "labels_said",
    "one_call",
    "one_case",
    "one_session",
    "one_span",
    "one_tool_call",
    "overview",
    "plan",
    "recorded_calls",
    "recorded_models",
    "run_list",
    "session_list",
    "terminal",
]

__getattr__ = deferred(
    __name__,
    {
        "audit_screen": "audit",
        "canary_screen": "audit",
        "Forecast": "forecast",
        "Look": "drawing",
        "MetricForecast": "forecast",
        "ModelForecast": "forecast",
        "account": "accounts",
        "calibration_screen": "calibration",
        "comparison": "compared",
        "evals": "eval_table",
        "labels_said": "sessions",
        "one_session": "sessions",
        "one_span": "sessions",
        "session_list": "sessions",
        "one_call": "call",
        "one_case": "cases",
        "one_tool_call": "call",
        "overview": "side_by_side",
        "plan": "forecast",
        "recorded_calls": "recorded",
        "recorded_models": "recorded",
        "run_list": "listing",
        "terminal": "screen",
    },
)
