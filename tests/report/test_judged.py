"""Judged runs in reports: units, choices, judges compared, money, calls in full and plans."""

# ruff: noqa: RUF001  the dash of our intervals

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from evalmark.report import (
    WRITERS,
    Forecast,
    Look,
    MetricForecast,
    ModelForecast,
    Options,
    one_call,
    plan,
    terminal,
)
from evalmark.report.judged import agreement_lines, remarks
from evalmark.report.spending import money, spent_lines
from evalmark.report.wording import behind, centre, on_scale, placed, spread, standing
from evalmark.stats import scale_ends, summarise
from evalmark.values import Call, Case, Metric, Output, Reply, Request, Result, Run, Score, Spending, Trial, Turn

from . import judged
from .example import HOSTILE, RUN
from .test_screen import HOSTILE_TEXT

EMPTY = Run(id="r", name="n", created="2026-11-21T00:00:00+00:00")


PLAIN = (Metric(name="m"),)


def run(rows, metrics=PLAIN, **fields):
    """One trial for each row of scores."""
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{i}"), dataset="d", position=i), output=Output(value=""), scores=tuple(scores)
        )
        for i, scores in enumerate(rows)
    ]
    return replace(EMPTY, results=results, metrics=metrics, **fields)


def of(raws, unit="", **fields):
    """The figures of one metric with these raw scores; each is its own place on the scale of the unit."""
    low, high = scale_ends(unit) or (0, 1)
    rows = [
        [Score(name="m", raw=raw, value=None if isinstance(raw, str) else (raw - low) / (high - low))] for raw in raws
    ]
    (found,) = summarise(run(rows, (Metric(name="m", unit=unit, **fields),))).metrics
    return found


@pytest.mark.parametrize(
    ("raws", "unit", "shown"),
    [
        pytest.param([3, 4, 4, 4], "1..5", ("3.75 of 1..5", "(0.69)", "2.03 – 4.73"), id="a scale"),
        pytest.param([5, 5], "1..5", ("5.00 of 1..5", "(1.00)", "2.37 – 5.00"), id="the end of a scale"),
        pytest.param([5] * 999 + [4], "1..5", ("4.99 of 1..5", "(0.99)", "4.98 – 4.99"), id="almost the end of a scale"),
        pytest.param([80, 90], "%", ("85 of 100", "(0.85)", "25.0 – 99.0"), id="percent"),
        pytest.param([0, 0], "%", ("0 of 100", "(0.00)", "0 – 65.8"), id="percent, all nothing"),
        pytest.param([True, True, False], "", ("66.7 %", "", "20.8 – 93.9 %"), id="truth values"),
        pytest.param([True, True], "boolean", ("100 %", "", "34.2 – 100.0 %"), id="all true"),
        pytest.param([0.25, 0.75], "", ("0.500", "", "0.095 – 0.905"), id="values"),
        pytest.param(["A", "B"], "choice", ("–", "", "–"), id="names alone"),
    ],
)  # fmt: skip
def test_a_mean_is_shown_in_the_unit_of_its_metric(raws, unit, shown):
    found = of(raws, unit)
    assert (centre(found), behind(found), spread(found)) == shown


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("53383426a9b2", "53383426a9b2 “What is the capital of Peru, as…”: ", id="an id that was made"),
        pytest.param("peru", "peru: ", id="an id that somebody gave"),
    ],
)
def test_a_worst_verdict_names_a_case_that_has_no_name_by_its_words(name, told):
    case = Case(id=name, input="What is the capital of Peru, asked twice?")
    score = Score(name="m", raw=0.25, value=0.25)
    found = Result(trial=Trial(case=case, dataset="d"), output=Output(value=""), scores=(score,))
    made = replace(EMPTY, results=[found], metrics=(Metric(name="m", judge="j"),))
    assert told + "0.250" in " ".join(terminal(made, Look(width=120)).split())
    texts = {ending: "".join(WRITERS[ending](made)) for ending in (".md", ".html", ".json")}
    assert told.split(":")[0] in texts[".md"].replace("\\", "")
    assert told.split(":")[0] in texts[".html"]
    assert "“" not in texts[".json"]


def test_a_scale_never_prints_as_a_percentage():
    text = "".join(
        terminal(
            run([[Score(name="m", raw=r, value=(r - 1) / 4)] for r in (3, 4, 4)], (Metric(name="m", unit="1..5"),))
        )
    )
    assert "3.67 of 1..5" in text
    assert "%" not in text.replace("95 %", "")


@given(st.floats(0, 1), st.sampled_from(["1..5", "0..10", "1..7", "%", "-1..1"]))
def test_a_mean_is_at_the_end_of_its_scale_only_when_it_is(share, unit):
    low, high = scale_ends(unit)
    number = low + share * (high - low)
    said = float(on_scale(number, unit))
    assert (said == high) is (number == high)
    assert (said == low) is (number == low)
    assert abs(said - number) <= 0.11


@pytest.mark.parametrize(
    ("score", "threshold", "said"),
    [
        pytest.param(Score(name="m", raw=4, value=0.75, passed=True), 0.5, "4 of 1..5 (0.75) ≥ 0.5", id="a scale"),
        pytest.param(Score(name="m", raw=2.5, value=0.375, passed=False), 0.5, "2.50 of 1..5 (0.38) < 0.5", id="between two steps"),
        pytest.param(Score(name="m", raw="D", value=0.0, passed=False), 0.5, "D (0.00) < 0.5", id="a choice"),
        pytest.param(Score(name="m", raw=False, value=0.0, passed=False), 0.5, "no", id="a truth value"),
        pytest.param(Score(name="m", raw=True, value=2 / 3, passed=True), 0.5, "yes (0.67) ≥ 0.5", id="most of several truth values"),
        pytest.param(Score(name="m", raw=0.4, value=0.4, passed=False), 0.5, "0.400 < 0.5", id="a value"),
        pytest.param(Score(name="m", raw=4, value=0.4), None, "0.400", id="a number that is not on the scale"),
        pytest.param(Score(name="m", raw=10**400, value=0.4), None, "0.400", id="a number beyond all scales"),
        pytest.param(Score(name="m", raw="E"), None, "E", id="a choice without worth"),
        pytest.param(Score(name="m", status="unscored", raw="E"), None, "unscored", id="unscored"),
    ],
)  # fmt: skip
def test_one_score_in_the_unit_of_its_metric(score, threshold, said):
    assert standing(score, {"m": Metric(name="m", unit="1..5", threshold=threshold)}) == said


def test_a_verdict_of_a_scale_is_whole_where_it_is():
    assert [placed(5, "1..5"), placed(4.999, "1..5"), placed(100, "%")] == ["5 of 1..5", "4.99 of 1..5", "100 of 100"]


def two_judges(pairs, unit="1..5", judges=("a/x", "b/y")):
    low, high = scale_ends(unit) or (0, 1)
    metrics = tuple(Metric(name=f"m [{judge}]", unit=unit, judge=judge, base="m") for judge in judges)
    rows = [
        [
            Score(name=m.name, raw=raw, value=(raw - low) / (high - low))
            for m, raw in zip(metrics, row, strict=True)
            if raw is not None
        ]
        for row in pairs
    ]
    (found,) = summarise(run(rows, metrics)).agreements
    return list(agreement_lines(found))


@pytest.mark.parametrize(
    ("pairs", "unit", "lines"),
    [
        pytest.param(
            [(4, 4), (2, 3), (5, 5)], "1..5",
            ["a/x and b/y: the same on 2 of 3 outputs, 66.7 % (20.8 – 93.9 %) · kappa 0.86, quadratic weights · b/y minus a/x on average +0.33 (-1.10 – 1.77)"],
            id="few outputs, and no interval for kappa",
        ),
        pytest.param(
            [(True, True)] * 17 + [(True, False), (False, True)], "",
            [
                "a/x and b/y: the same on 17 of 19 outputs, 89.5 % (68.6 – 97.1 %) · kappa -0.06 (-0.14 – 0.03) · b/y minus a/x on average +0.00 (-0.16 – 0.16)",
                "94.7 % of all verdicts are true: where one verdict is so common, kappa is low however often judges agree",
            ],
            id="nearly always the same verdict",
        ),
        pytest.param(
            [(True, True), (True, True)], "",
            ["a/x and b/y: the same on 2 of 2 outputs, 100 % (34.2 – 100.0 %) · kappa says nothing, as all verdicts are the same · b/y minus a/x on average +0.00"],
            id="one and the same verdict",
        ),
        pytest.param([(1, None), (None, 2)], "1..5", ["a/x and b/y scored no output in common"], id="no output in common"),
    ],
)  # fmt: skip
def test_two_judges_compared(pairs, unit, lines):
    assert two_judges(pairs, unit) == lines


def test_three_judges_compared():
    rows = [(4, 4, 5), (2, 3, 2), (5, 5, 5), (1, 1, None)]
    lines = two_judges(rows, judges=("a/x", "b/y", "c/z"))
    assert lines[0] == "3 judges on 4 outputs: Krippendorff's alpha 0.90, ordinal"
    assert [line.split(":")[0] for line in lines[1:]] == ["a/x and b/y", "a/x and c/z", "b/y and c/z"]
    assert two_judges([(5, 5, 5)] * 3, judges=("a", "b", "c"))[0] == "3 judges on 3 outputs: Krippendorff's alpha says nothing, as all verdicts are the same"  # fmt: skip


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ({"flipped": True}, ["judged again, the verdict changed on 1 of 1 output, 100 % (20.7 – 100.0 %)"]),
        ({"order_consistent": True}, ["the order of the answers decided 0 of 1 comparison, 0 % (0.0 – 79.3 %)"]),
        ({"weighting": "logprobs"}, []),
        ({"weighting": "plain: none given"}, ["0 of 1 score weighted by token probabilities; 1 plain: none given"]),
        ({"unscored": "judge_parse"}, []),
    ],
    ids=["flipped", "order", "all weighted", "none weighted", "a kind of unscored on what is scored"],
)
def test_what_is_said_of_a_judge(detail, said):
    (found,) = summarise(run([[Score(name="m", raw=0.5, value=0.5, detail=detail)]])).metrics
    assert list(remarks(found)) == said


def test_unscored_verdicts_are_named_by_their_kind():
    kinds = ["judge_parse", "judge_refused", "judge_parse", "judge_abstained", "judge_new"]
    rows = [[Score(name="m", status="unscored", detail={"unscored": kind})] for kind in kinds]
    (found,) = summarise(run(rows)).metrics
    assert list(remarks(found)) == ["unscored verdicts: 2 not readable, 1 refused, 1 could not tell, 1 judge_new"]


@pytest.mark.parametrize("ending", [".md", ".html"])
def test_every_report_for_people_has_all_of_it(ending):
    text = re.sub(r"<[^>]*>|\\", "", "".join(WRITERS[ending](judged.RUN)))
    for said in (
        "3.67 of 1..5", "71.2 of 100", "91.7 %", "A 2 · B 1 · C 7 · D 2", "judged again, the verdict changed on 2 of 12 outputs",
        "the order of the answers decided 3 of 12 comparisons", "1 refused, 1 out of range", "11 of 12 scores weighted",
        "the same on 11 of 18 outputs", "kappa 0.82", "92 calls, 24 from the journal, 1 failed, 3 retries", "price unknown for 5 calls",
        "The answer names Zermatt", "thanks, turn by turn", "judges openai/gpt-5-mini, anthropic/claude-sonnet-4-5",
    ):  # fmt: skip
        assert said in text


@pytest.mark.parametrize("ending", list(WRITERS))
def test_without_times_nothing_is_said_of_calls(ending):
    replayed = replace(judged.RUN, spending=(Spending(model=judged.SMALL, replayed=122),))
    first, again = ("".join(WRITERS[ending](r, None, Options(times=False))) for r in (judged.RUN, replayed))
    assert first == again


def test_claims_without_support_come_with_what_the_judge_says_of_them():
    claims = [
        {"claim": "It is <b>red</b>.", "supported": False, "reason": "No @passage says so."},
        {"claim": "It is big.", "supported": True},
    ]
    score = Score(name="m", raw=0.5, value=0.5, passed=False, detail={"claims": claims})
    found = run([[score]])
    assert "“It is <b>red</b>.”  No @passage says so." in " ".join(terminal(found).split()).replace(".” No", ".”  No")
    assert "unsupported: It is &lt;b&gt;red&lt;/b&gt;. (No @<!-- -->passage says so.)" in "".join(WRITERS[".md"](found))
    assert "“It is &lt;b&gt;red&lt;/b&gt;.” No @passage says so." in "".join(WRITERS[".html"](found))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_no_line_is_wider_than_the_terminal(width):
    looks = Look(width=width), Look(width=width, unicode=False)
    texts = [f(look) for look in looks for f in (lambda k: terminal(judged.RUN, k), lambda k: one_call(judged.CALL, k), lambda k: plan(judged.FORECAST, k))]  # fmt: skip
    assert max(cell_len(line) for text in texts for line in text.splitlines()) <= width


def test_what_a_narrow_terminal_has_no_room_for_is_left_out_of_every_table():
    headings = {
        width: [line for line in terminal(judged.RUN, Look(width=width)).splitlines() if line.startswith("  metric")]
        for width in (80, 120, 160)
    }
    assert all("low   high" not in line for line in headings[80])
    assert all(line.count("95 % interval") == 1 and "low   high" in line for line in headings[120])
    assert all(line.count("95 % interval") == 2 for line in headings[160])
    assert "3.67 of 1..5 (0.67)" in terminal(judged.RUN, Look(width=120))


def test_the_worst_verdicts_can_be_left_out():
    assert "worst verdicts" in terminal(judged.RUN)
    assert "worst verdicts" not in terminal(judged.RUN, Look(worst=0))
    assert "worst verdicts" not in terminal(RUN)  # nobody judged


@pytest.mark.parametrize(
    ("dollars", "said"),
    [(0, "$0"), (0.0042, "$0.0042"), (12.3, "$12.30"), (0.5, "$0.50"), (0.999, "$1.00"), (0.994, "$0.99"), (1234567.891, "$1,234,567.89"),
     (0.000000123, "$0.00000012"), (0.0999, "$0.10"), (0.09999, "$0.10"), (0.012345, "$0.012")],
)  # fmt: skip
def test_money(dollars, said):
    assert money(dollars) == said


@given(st.floats(1e-12, 1e9))
def test_money_is_never_nothing_and_never_far_off(dollars):
    said = float(money(dollars).replace("$", "").replace(",", ""))
    assert said == pytest.approx(dollars, rel=0.06, abs=0.0051 if dollars >= 0.1 else 0)


@pytest.mark.parametrize(
    ("spent", "said"),
    [
        pytest.param(Spending(model="m", calls=2, input_tokens=10, output_tokens=3, cost=0.25), "2 calls · 10 tokens in, 3 out · $0.25", id="all known"),
        pytest.param(Spending(model="m", calls=1, unknown_usage=1, unknown_cost=1), "1 call · tokens unknown · price unknown for 1 call", id="nothing known is never 0"),
        pytest.param(Spending(model="m", calls=3, unknown_usage=1, input_tokens=5, cost=2.0, unknown_cost=1), "3 calls · 5 tokens in, 0 out (1 call did not say) · $2.00, price unknown for 1 call", id="partly known"),
        pytest.param(Spending(model="m", calls=1, input_tokens=1, output_tokens=1), "1 call · 1 tokens in, 1 out · price unknown", id="no price, and nobody counted"),
        pytest.param(Spending(model="m", calls=1, input_tokens=1, output_tokens=1, cost=0.0), "1 call · 1 tokens in, 1 out · $0", id="free"),
        pytest.param(Spending(model="m", replayed=7), "7 from the journal · nothing paid", id="all from the journal"),
        pytest.param(Spending(model="m", failed=2, attempts=6), "0 calls, 2 failed, 6 retries · price unknown", id="all failed"),
        pytest.param(Spending(model="m", replayed=7, failed=1, attempts=1), "7 from the journal, 1 failed, 1 retry · price unknown", id="what failed may have been paid for"),
        pytest.param(Spending(model="m", calls=5, repeated=2, input_tokens=1, output_tokens=1, cost=1.0), "5 calls, 2 sent again after a break · 1 tokens in, 1 out · $1.00", id="resumed"),
    ],
)  # fmt: skip
def test_what_a_model_came_to(spent, said):
    assert spent_lines(replace(EMPTY, spending=(spent,))) == [("m", said)]


def test_several_models_are_summed():
    lines = spent_lines(judged.RUN)
    assert [name for name, _ in lines] == [judged.SMALL, judged.LARGE, "ollama/llama3", "local/kept", "in all"]
    assert lines[-1][1].endswith("$12.32, price unknown for 9 calls")
    assert spent_lines(EMPTY) == []
    unknown = Spending(model="m", calls=1, unknown_usage=1, unknown_cost=1)
    assert (
        spent_lines(replace(EMPTY, spending=(unknown, unknown)))[-1][1]
        == "2 calls · tokens unknown · price unknown for 2 calls"
    )


def test_a_call_is_shown_exactly_and_says_what_it_cannot_show():
    text = one_call(judged.CALL, Look(width=200))
    assert "You judge answers.\n" in text
    assert "<<<f3a9\n" in text
    assert text.count("control characters were left out here") == 1
    for said in ("native JSON schema", "too many requests (HTTP 429, 310 ms)", '{"error": "slow down"}', "nothing now, $0.0042 when it was sent",
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
    assert said in one_call(Call(key="k", model="m", identity="m", request=Request(messages=()), reply=reply))


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
    text = one_call(call, Look(color=color)) + plan(forecast, Look(color=color))
    left = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
    assert not [c for c in left if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    assert "[bold red]markup[/] :smile:" in left
    assert (one_call(call, Look(unicode=False)) + plan(forecast, Look(unicode=False))).isascii()


def test_a_plan_never_calls_unknown_nothing():
    text = plan(judged.FORECAST, Look(width=120))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["openai/gpt-5-mini"][1:] == ["120", "24", "96", "~41,000", "~5,100", "~$0.02"]
    assert rows["ollama/llama3"][1:] == ["5", "0", "5", "~1,000", "unknown", "unknown"]
    assert rows[judged.LARGE][1:] == ["5", "5", "0", "0", "0", "nothing"]
    assert rows["in"][2:] == ["130", "29", "101", "~42,000", "unknown", "~$0.02"]
    assert rows["thanks"][1:] == ["polite", "unknown", "unknown"]
    assert "The price of 5 calls is unknown" in text
    assert "Tokens and costs are estimates" in text


def test_a_plan_without_models_says_that_none_is_asked():
    text = plan(Forecast(name="n", trials=3, metrics=(MetricForecast(dataset="d", metric="equals", trials=3),)))
    assert "No model is asked." in text
    assert "judge calls" not in text
    assert "estimates" not in text
    assert "trials unknown" in plan(Forecast(name="n"))
