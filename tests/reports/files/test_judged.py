"""Judged runs in files: all that is said of judges and of what they cost, and nothing where times are left out."""

import re
from dataclasses import replace

import pytest

from evalmark import Score
from evalmark.core.values.spending import Spending
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.writers import WRITERS
from tests.reports.text import judged
from tests.reports.text.judged import CASE_NAMES, of_one_case, scored


@pytest.mark.parametrize(("name", "told"), CASE_NAMES)
def test_a_worst_verdict_names_a_case_that_has_no_name_by_its_words(name, told):
    made = of_one_case(name)
    texts = {ending: "".join(WRITERS[ending](made)) for ending in (".md", ".html", ".json")}
    assert told.split(":")[0] in texts[".md"].replace("\\", "")
    assert told.split(":")[0] in texts[".html"]
    assert "“" not in texts[".json"]


@pytest.mark.parametrize("ending", [".md", ".html"])
def test_every_report_for_people_has_all_of_it(ending):
    text = re.sub(r"<[^>]*>|\\", "", "".join(WRITERS[ending](judged.RUN)))
    for said in (
        "3.67 of 1..5", "71.2 of 100", "91.7 %", "A 2 · B 1 · C 7 · D 2", "judged again, the verdict changed on 2 of 12 outputs",
        "the order of the answers decided 3 of 12 comparisons", "1 refused, 1 out of range", "11 of 12 scores weighted",
        "the same on 11 of 18 outputs", "kappa 0.82", "92 calls, 24 cached, 1 failed, 3 retries", "price unknown for 5 calls",
        "The answer names Zermatt", "thanks, turn by turn", "judges openai/gpt-5-mini, anthropic/claude-sonnet-4-5",
    ):  # fmt: skip
        assert said in text


@pytest.mark.parametrize("ending", list(WRITERS))
def test_without_times_nothing_is_said_of_calls(ending):
    replayed = replace(judged.RUN, spending=(Spending(model=judged.SMALL, replayed=122),))
    first, again = ("".join(WRITERS[ending](r, None, ReportOptions(times=False))) for r in (judged.RUN, replayed))
    assert first == again


def test_claims_without_support_come_with_what_the_judge_says_of_them():
    claims = [
        {"claim": "It is <b>red</b>.", "supported": False, "reason": "No @passage says so."},
        {"claim": "It is big.", "supported": True},
    ]
    score = Score(name="m", raw=0.5, value=0.5, passed=False, detail={"claims": claims})
    found = scored([[score]])
    assert "unsupported: It is &lt;b&gt;red&lt;/b&gt;. (No @<!-- -->passage says so.)" in "".join(WRITERS[".md"](found))
    assert "“It is &lt;b&gt;red&lt;/b&gt;.” No @passage says so." in "".join(WRITERS[".html"](found))
