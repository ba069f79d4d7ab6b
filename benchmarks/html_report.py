"""The HTML report of a run with many cases: bytes, seconds and memory to write it, and how soon Chromium shows it.

Run: python benchmarks/html_report.py [--cases 5000] [--answer 55] [--baseline] [--keep FILE]
"""

import argparse
import random
import re
import resource
import tempfile
import time
from pathlib import Path

from browser import chromium, first_paint
from rows import AddRow, add_json, row_output

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_html import as_html
from evalmark.stats.summary.summarise import summarise

WORDS = [
    *("the parcel", "of", "order", "a customer", "asks", "where", "it is", "and", "the carrier", "says that", "within"),
    *(
        "three days",
        "money",
        "comes back",
        "when",
        "an article",
        "was sent",
        "before",
        "Monday",
        "but not",
        "<b>after</b>",
    ),
    *("that", "&", "nobody", "knows", "why", "since 2019", "é"),
]
METRICS = (
    Metric(name="similarity", threshold=0.6),
    Metric(name="correct", unit="1..5", judge="openai/judge"),
    Metric(name="answer_hallucination", direction="lower", threshold=0.3),
)
CONTEXTS = 400
"""Different passages, of some 2,000 characters each; a case has three of them."""
GOAL_SECONDS = 15


class Results:
    """Made anew by each reader, as a store reads them anew."""

    def __init__(self, cases: int, words: int, seed: int) -> None:
        draw = random.Random(0)  # noqa: S311  the same texts every time
        self.cases, self.words, self.seed = cases, words, seed
        self.contexts = [random_text(draw, 230) for _ in range(CONTEXTS)]

    def __len__(self) -> int:
        return self.cases

    def __iter__(self):
        return (self.one(number) for number in range(self.cases))

    def one(self, number: int) -> Result:
        draw = random.Random(number)  # noqa: S311
        case = Case(
            id=f"q{number}",
            input=random_text(draw, 12),
            expected=random_text(draw, 20),
            contexts=tuple(draw.choices(self.contexts, k=3)),
            tags=(("even", "odd")[number % 2],),
        )
        answer, luck = random_text(draw, self.words), random.Random(number + 7 * self.seed)  # noqa: S311
        value, grade = luck.random(), luck.randint(1, 5)
        if luck.random() < 0.2 * self.seed:
            answer = answer.replace("parcel", "letter")
        scores = (
            Score(name="similarity", raw=value, value=value, passed=value >= 0.2),
            Score(name="correct", raw=grade, value=(grade - 1) / 4, passed=grade >= 2, reason=random_text(draw, 17)),
            Score(name="answer_hallucination", raw=0.0, value=0.0, direction="lower", passed=True),
        )
        trial = Trial(case=case, dataset="questions", target="my_app:answer", position=number)
        return Result(trial=trial, output=Output(value=answer, seconds=luck.random()), scores=scores)


def random_text(draw: random.Random, n: int) -> str:
    return " ".join(draw.choices(WORDS, k=n))


def a_run(cases: int, words: int, seed: int) -> Run:
    return Run(
        id=f"20261121-10150{seed}-3f9a",
        name="support bot",
        created="2026-11-21T10:15:00+00:00",
        datasets=(DatasetInfo(name="questions"),),
        metrics=METRICS,
        results=Results(cases, words, seed),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5_000)
    parser.add_argument("--answer", type=int, default=55, help="words of an answer, of 9 characters")
    parser.add_argument("--baseline", action="store_true", help="with an earlier run as baseline")
    parser.add_argument("--keep", type=Path, help="write it there")
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        path = args.keep or Path(name) / "report.html"
        measure(args, path, add_row)
        look(path, add_row)


def measure(args: argparse.Namespace, path: Path, add_row: AddRow) -> None:
    run = a_run(args.cases, args.answer, 0)
    options = ReportOptions()
    if args.baseline:
        earlier = a_run(args.cases, args.answer, 1)
        options = ReportOptions(comparison=compare(run, earlier), baseline=earlier)
    summary = summarise(run)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(as_html(run, summary, options))
    taken = time.perf_counter() - started
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    size, goal = path.stat().st_size, 2_000 * max(5_000, args.cases)
    text = path.read_text(encoding="utf-8")
    cut = re.search(r"[\d,]+ texts? of more than [^;]*", text)
    note = f"{size / args.cases:,.0f} bytes a case; {cut[0] if cut else 'no text is cut'}"
    named = f"{args.cases:,} cases{' with a baseline' if args.baseline else ''}"
    add_row(what=f"{named}: size", found=size / 1e6, unit="MB", at_most=goal / 1e6, note=note)
    add_row(what=f"{named}: written in", found=taken, unit="s", at_most=GOAL_SECONDS)
    note = f"{more / 1_024:.0f} MB more than before"
    add_row(what=f"{named}: memory", found=(before + more) / 1_024, unit="MB", note=note)
    assert size <= goal, size
    assert text.count("<tbody data-v=") == args.cases


FILTER = """() => { const field = document.querySelector('[name=text]'), started = performance.now();
    field.value = 'letter'; field.form.requestSubmit(); document.body.offsetHeight; return performance.now() - started; }"""
SORT = """() => { const started = performance.now();
    document.querySelectorAll('.sort')[2].click(); document.body.offsetHeight; return performance.now() - started; }"""


def look(path: Path, add_row: AddRow) -> None:
    with chromium() as browser:
        if browser is None:
            add_row(what="Chromium: first paint", found=None, unit="ms", note="there is no Playwright or no Chromium")
            return
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(path.absolute().as_uri(), wait_until="load")
        first, loaded = first_paint(page)
        note = f"all of it and its script after {loaded:.0f} ms"
        add_row(what="Chromium: first paint", found=first, unit="ms", note=note)
        filtered, again = page.evaluate(FILTER), page.evaluate(FILTER)
        add_row(what="Chromium: filtered by a text", found=filtered, unit="ms", note=f"again in {again:.0f} ms")
        add_row(what="Chromium: sorted by a score", found=page.evaluate(SORT), unit="ms")


if __name__ == "__main__":
    main()
