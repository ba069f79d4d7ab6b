"""The list of runs says whether each met its gate, as its own page does, and never more than was found out."""

import html
import re
import time
from dataclasses import replace

from evalmark import Case, Gate, Output, Result, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.viewer.app import viewer_app
from evalmark.reports.viewer.runs_page import GATED
from evalmark.reports.viewer.urls.paths import run_path

from .conftest import POLICY, a_run, from_browser, keep, shown


def answered(passed: int, of: int = 10, *, gated: bool = True) -> list[Result]:
    """So many cases of which the first so many pass, where anything can."""
    return [
        Result(
            trial=Trial(case=Case(id=f"c{n}", input=str(n)), dataset="squares.jsonl", position=n),
            output=Output(value="answer"),
            scores=(Score(name="correct", value=float(n < passed), passed=n < passed if gated else None),),
        )
        for n in range(of)
    ]


def gates(app) -> list[str]:
    """The cells of the list, the newest run first."""
    cells = re.findall(r'<td class="gate">(.*?)</td>', from_browser(app, "/").text, re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in cells]


def kept(store, name: str, results: list[Result], *, ends: bool = True, **fields) -> None:
    keep(store, a_run(name, metrics=(Metric(name="correct"),), **fields), results, ends=ends)


def test_each_run_has_the_word_of_its_gate_with_its_sign(store):
    kept(store, "ungated", answered(9, gated=False))
    kept(store, "all", answered(10))
    kept(store, "one-failed", answered(9))
    kept(store, "nine-are-enough", answered(9), gate=Gate(min_pass_rate=0.9))
    kept(store, "too-low", answered(9), gate=Gate(thresholds={"correct": 0.95}))
    kept(store, "broken", [*answered(9, 9), replace(answered(10)[9], output=Output(error="it broke"), scores=())])
    app = shown(store)
    found = ["? cannot tell", "✗ failed", "✓ passed", "✗ failed", "✓ passed", ""]
    assert gates(app) == found
    for name, said in zip(("broken", "too-low", "nine-are-enough", "one-failed", "all"), found, strict=False):
        assert (
            said in re.search(r'<span class="outcome [a-z]+">(.*?)</span>', from_browser(app, run_path(name)).text)[1]
        )


def test_a_run_under_way_has_no_gate_until_its_end(store):
    kept(store, "going", answered(3), ends=False)
    app = shown(store)
    assert gates(app) == [""]
    assert 'class="outcome' not in from_browser(app, run_path("going")).text, "nor on its page"
    store.finish(a_run("going", metrics=(Metric(name="correct"),), status="complete", finished="2026-11-21T11:00:00Z"))
    assert gates(app) == ["✗ failed"]


def test_the_gate_of_a_large_run_stands_on_its_own_page(store):
    kept(store, "large", answered(GATED + 1, GATED + 1))
    assert gates(shown(store)) == ["on its page"]


def test_a_damaged_result_hides_no_list(store):
    kept(store, "damaged", answered(10))
    kept(store, "whole", answered(10))
    store._access.write(lambda db: db.execute("update result set checksum = 0 where run = 1"), "the damage")
    assert gates(shown(store)) == ["✓ passed", ""]


def test_while_gates_are_looked_up_the_page_says_so_and_asks_again(store):
    kept(store, "all", answered(10))
    app = viewer_app(store, POLICY, patience=0)
    end = time.monotonic() + 30
    text = from_browser(app, "/").text
    assert ("are being computed" in text) == ("data-pending" in text)  # an idle machine may be done already
    while "data-pending" in text:
        assert time.monotonic() < end
        time.sleep(0.02)
        text = from_browser(app, "/").text
    assert "✓</span> passed" in text
    assert "being computed" not in text
