"""Judged runs, calls in full and plans at a terminal."""

import re

import pytest
from rich.cells import cell_len

from evalmark import Score, Turn
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.run import Metric
from evalmark.reports.terminal.call import call_screen
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.forecast import forecast_screen
from evalmark.reports.terminal.run_report import run_screen
from evalmark.runs.dry_run.forecast import Forecast, MetricForecast, ModelForecast
from tests.reports.terminal import exchanges
from tests.reports.text import judged
from tests.reports.text.example import HOSTILE, HOSTILE_TEXT, RUN
from tests.reports.text.judged import CASE_NAMES, of_one_case, scored


@pytest.mark.parametrize(("name", "told"), CASE_NAMES)
def test_a_worst_verdict_names_a_case_that_has_no_name_by_its_words(name, told):
    made = of_one_case(name)
    assert told + "0.250" in " ".join(run_screen(made, TerminalStyle(width=120)).split())


def test_claims_without_support_come_with_what_the_judge_says_of_them():
    claims = [
        {"claim": "It is <b>red</b>.", "supported": False, "reason": "No @passage says so."},
        {"claim": "It is big.", "supported": True},
    ]
    score = Score(name="m", raw=0.5, value=0.5, passed=False, detail={"claims": claims})
    found = scored([[score]])
    assert "“It is <b>red</b>.”  No @passage says so." in " ".join(run_screen(found).split()).replace(".” No", ".”  No")


def test_a_scale_never_prints_as_a_percentage():
    text = "".join(
        run_screen(
            scored([[Score(name="m", raw=r, value=(r - 1) / 4)] for r in (3, 4, 4)], (Metric(name="m", unit="1..5"),))
        )
    )
    assert "3.67 of 1..5" in text
    assert "%" not in text.replace("95 %", "")


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_no_line_is_wider_than_the_terminal(width):
    looks = TerminalStyle(width=width), TerminalStyle(width=width, unicode=False)
    texts = [f(look) for look in looks for f in (lambda k: run_screen(judged.RUN, k), lambda k: call_screen(exchanges.CALL, k), lambda k: forecast_screen(exchanges.FORECAST, k))]  # fmt: skip
    assert max(cell_len(line) for text in texts for line in text.splitlines()) <= width


def test_what_a_narrow_terminal_has_no_room_for_is_left_out_of_every_table():
    headings = {
        width: [
            line
            for line in run_screen(judged.RUN, TerminalStyle(width=width)).splitlines()
            if line.startswith("  metric")
        ]
        for width in (80, 120, 160)
    }
    assert all("low   high" not in line for line in headings[80])
    assert all(line.count("95 % interval") == 1 and "low   high" in line for line in headings[120])
    assert all(line.count("95 % interval") == 2 for line in headings[160])
    assert "3.67 of 1..5 (0.67)" in run_screen(judged.RUN, TerminalStyle(width=120))


def test_the_worst_verdicts_can_be_left_out():
    assert "worst verdicts" in run_screen(judged.RUN)
    assert "worst verdicts" not in run_screen(judged.RUN, TerminalStyle(worst=0))
    assert "worst verdicts" not in run_screen(RUN)  # nobody judged


def test_a_call_is_shown_exactly_and_says_what_it_cannot_show():
    text = call_screen(exchanges.CALL, TerminalStyle(width=200))
    assert "You judge answers.\n" in text
    assert "<<<f3a9\n" in text
    assert text.count("control characters were removed here") == 1
    for said in ("native JSON schema", "too many requests (HTTP 429, 310 ms)", '{"error": "slow down"}', "$0 now, $0.0042 when it was sent",
                 "1,024 read from the provider's cache, 64 of reasoning", '"minimum": 1', '{"temperature": 0, "logprobs": 5}'):  # fmt: skip
        assert said in text
    assert "max_tokens" not in text  # None is left out of what is sent


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(Reply(text="4", status="truncated"), "? m  truncated", id="truncated"),
        pytest.param(Reply(status="refused"), "tokens unknown · price unknown", id="nothing known"),
        pytest.param(None, "✗ m  failed", id="no reply"),
    ],
)
def test_a_call_without_a_good_reply_says_so(reply, said):
    assert said in call_screen(Call(key="k", model="m", identity="m", request=Request(messages=()), reply=reply))


@pytest.mark.parametrize("color", [True, False])
def test_only_our_own_colours_reach_the_terminal(color):
    turn = Turn(role=HOSTILE_TEXT, content=HOSTILE_TEXT)
    reply = Reply(
        text=HOSTILE_TEXT, data={HOSTILE: HOSTILE}, reasoning=HOSTILE, model=HOSTILE, headers={HOSTILE: HOSTILE}
    )
    call = Call(
        key=HOSTILE, model=HOSTILE, identity=HOSTILE, created=HOSTILE, error=HOSTILE, reply=reply,
        request=Request(messages=(turn,), schema={HOSTILE: HOSTILE}, settings={HOSTILE: HOSTILE}),
    )  # fmt: skip
    forecast = Forecast(
        name=HOSTILE, target=HOSTILE, notes=(HOSTILE,), models=(ModelForecast(model=HOSTILE, calls=1),),
        metrics=(MetricForecast(dataset=HOSTILE, metric=HOSTILE, trials=1, judge=HOSTILE),),
    )  # fmt: skip
    text = call_screen(call, TerminalStyle(color=color)) + forecast_screen(forecast, TerminalStyle(color=color))
    left = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
    assert not [c for c in left if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    assert "[bold red]markup[/] :smile:" in left
    text = call_screen(call, TerminalStyle(unicode=False)) + forecast_screen(forecast, TerminalStyle(unicode=False))
    assert text.replace("\ufffd", "").isascii()  # that one is of the texts


def test_a_plan_never_calls_unknown_nothing():
    text = forecast_screen(exchanges.FORECAST, TerminalStyle(width=120))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["openai/gpt-5-mini"][1:] == ["120", "24", "96", "~41,000", "~5,100", "~$0.02"]
    assert rows["ollama/llama3"][1:] == ["5", "0", "5", "~1,000", "unknown", "unknown"]
    assert rows[judged.LARGE][1:] == ["5", "5", "0", "0", "0", "$0"]
    assert rows["total"][1:] == ["130", "29", "101", "~42,000", "unknown", "~$0.02"]
    assert rows["thanks"][1:] == ["polite", "unknown", "unknown"]
    assert "The price of 5 calls is unknown" in text
    assert "Tokens and costs are estimates" in text


def test_a_plan_without_models_says_that_none_is_asked():
    text = forecast_screen(
        Forecast(name="n", trials=3, metrics=(MetricForecast(dataset="d", metric="equals", trials=3),))
    )
    assert "No model is called." in text
    assert "judge calls" not in text
    assert "estimates" not in text
    assert "trials unknown" in forecast_screen(Forecast(name="n"))
