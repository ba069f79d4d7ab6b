"""The whole way of a person: two runs on a command line, the viewer in a browser, a report from disk, and paper."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from .chromium import chromium, playwright
from .looking import context_of, faults_of
from .printed import pages_of

pytestmark = pytest.mark.slow

expect = playwright.expect
BOT = '''"""Knows the squares of small numbers."""

import time
from pathlib import Path

WRONG = {wrong}
GO = Path(__file__).parent / "go"


def answer(question):
    number = int(question.split()[2])
    while number == 7 and not GO.exists():
        time.sleep(0.02)
    return "I could not say." if number in WRONG else f"It is {{number * number}}."
'''
SUITE = """name: squares
datasets: [squares.csv]
target: bot:answer
metrics:
  - contains
  - length: {max_words: 4}
gate: {min_pass_rate: 0.8}
"""
ROWS = [
    "id,input,expected,tags",
    *(f"n{n},What is {n} times {n}?,{n * n},{'even' if n % 2 == 0 else 'odd'}" for n in range(12)),
]
SPENT = ["5", "8", "11"]
"""The cases that pass before the bot is changed, and fail after it."""


@dataclass(frozen=True)
class World:
    """A folder with a suite, and what a person does there on a command line."""

    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        known = {name: value for name, value in os.environ.items() if not name.startswith("EVALMARK_")}
        ann = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "ann"}
        return known | ann | {"PYTHONDONTWRITEBYTECODE": "1"}

    def does(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "evalmark", *words]
        return subprocess.run(
            command, cwd=self.folder, env=self.variables, capture_output=True, text=True, check=False, timeout=120
        )

    @contextmanager
    def begins(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "evalmark", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, cwd=self.folder, env=self.variables, text=True, **pipes) as process:
            try:
                yield process
            finally:
                process.terminate()
                process.communicate(timeout=30)

    def writes(self, wrong: set[int]) -> None:
        (self.folder / "bot.py").write_text(BOT.format(wrong=wrong), encoding="utf-8")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    """Two runs of a bot, which became worse in between, and a report of the second one."""
    made = World(tmp_path_factory.mktemp("journey"))
    (made.folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (made.folder / "squares.csv").write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    (made.folder / "go").touch()
    made.writes({3})
    assert made.does("run", "suite.yaml", "-q").returncode == 0
    made.writes({3, *map(int, SPENT)})
    second = made.does("run", "suite.yaml", "-q")
    assert second.returncode == 1, second.stderr
    written = made.does("report", "last", "-o", "report.html")
    assert written.returncode == 0, written.stderr
    return made


@pytest.fixture(scope="module")
def address(world) -> Iterator[str]:
    """What `evalmark view` prints."""
    with world.begins("view", "--no-open", "--port", "0") as process:
        yield process.stdout.readline().strip()


@pytest.fixture(scope="module")
def browser(address):
    with chromium() as opened:
        yield opened


@contextmanager
def person(browser, address: str, **options) -> Iterator:
    """Somebody who has opened the address; a fault of a script is one of the test."""
    with browser.new_context(viewport={"width": 1280, "height": 900}, **options) as context:
        page = context.new_page()
        page.set_default_timeout(15_000)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.goto(address)
        yield page
        assert faults == []


def choose_what_failed(page) -> None:
    """From the list to a case that failed."""
    expect(page.locator("table.runs tbody tr")).to_have_count(2)
    page.fill("input[name=text]", "squares bot:answer")
    page.keyboard.press("Enter")
    page.click("table.runs a.name >> nth=0")
    expect(page.locator("h1")).to_have_text("squares")
    expect(page.locator("main")).to_contain_text("8 of 12 judged trials passed (66.7 %)")
    page.select_option("select[name=verdict]", "fail")
    page.fill("input[name=q]", "tag:odd")
    page.keyboard.press("Enter")
    expect(page.locator("table.cases tbody a.name")).to_have_text([f"What is {n} times {n}?" for n in (3, 5, 11)])
    page.click("table.cases tbody a.name >> nth=1")
    expect(page.locator("h1")).to_have_text("What is 5 times 5?")
    for part in ("What is 5 times 5?", "25", "I could not say."):
        expect(page.locator("main").get_by_text(part, exact=True).first).to_be_visible()


def compare_both(page) -> None:
    """From the list to what became of the second run since the first."""
    page.goto(re.match(r"http://[^/]+", page.url)[0])
    for box in page.locator("input[name=pick]").all():
        box.check()
    page.click("#pick button")
    expect(page.locator("main")).to_contain_text("regressed")
    flipped = page.locator("details.beside[open]")
    expect(flipped).to_have_count(len(SPENT))
    for number in SPENT:
        expect(flipped.filter(has_text=f"n{number}").first).to_contain_text("I could not say.")


def test_with_keys_and_a_mouse(browser, address):
    with person(browser, address) as page:
        assert "token" not in page.url
        choose_what_failed(page)
        page.wait_for_load_state()  # before it no key is heard
        page.keyboard.press("d")
        expect(page.locator(".labelling .labelled").first).to_contain_text("bad")
        page.keyboard.press("j")
        expect(page.locator("h1")).to_have_text("What is 11 times 11?")
        page.go_back()
        page.go_back()
        page.reload()
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator("tr[aria-current=true] .labelled")).to_contain_text("bad")
        compare_both(page)


def test_without_a_script(browser, address):
    with person(browser, address, java_script_enabled=False) as page:
        choose_what_failed(page)
        page.click("a[rel=next]")
        expect(page.locator("h1")).to_have_text("What is 11 times 11?")
        page.click(".labelling button[value=up]")
        expect(page.locator(".labelling .labelled").first).to_contain_text("good")
        compare_both(page)


def test_what_was_labelled_in_the_viewer_is_there_for_the_command_line(world, browser, address):
    with person(browser, address, java_script_enabled=False) as page:
        page.click("table.runs a.name >> nth=0")
        page.click("table.cases a.name:has-text('What is 0 times 0?')")
        page.click(".labelling button[value=up]")
        expect(page.locator(".labelling .labelled").first).to_contain_text("good")
    assert re.search(r"label +up, ann,", world.does("show", "last", "--case", "n0").stdout)


def test_the_report_opens_from_disk_and_keeps_nobody_out(world, browser):
    with context_of(browser) as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((world.folder / "report.html").as_uri())
        expect(page.locator("main")).to_contain_text("8 of 12 judged trials passed (66.7 %)")
        assert asked == [page.url]
        assert {what: found for what, found in faults_of(page).items() if found} == {}


@pytest.mark.parametrize("format_of", ["A4", "Letter"])
def test_a_run_and_its_report_are_printed_whole(world, browser, address, format_of):
    with person(browser, address) as page:
        page.click("table.runs a.name >> nth=0")
        places = [page.url, (world.folder / "report.html").as_uri()]
        for place in places:
            page.goto(place)
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            pages = pages_of(page.pdf(format=format_of))
            assert 1 <= len(pages) <= 12, place
            said = "".join(pages)
            for part in (
                "squares",
                "✗failed",
                "8of12judgedtrialspassed(66.7%)",
                "contains",
                "length",
                "Whatis11times11?",
            ):
                assert part in said, (place, part)
            assert [n for n in range(12) if f"Whatis{n}times{n}?" not in said] == []


def test_a_run_under_way_is_followed_to_its_end(world, browser, address):
    (world.folder / "go").unlink()
    try:
        with world.begins("run", "suite.yaml", "-q", "-j", "1") as running, person(browser, address) as page:
            live = page.locator("table.runs tbody tr", has_text="running")
            while running.poll() is None and not live.count():
                page.wait_for_timeout(50)
                page.reload()
            live.locator("a.name").click()
            rows = page.locator("table.cases tbody tr")
            expect(rows).to_have_count(7, timeout=30_000)
            (world.folder / "go").touch()
            expect(rows).to_have_count(12, timeout=30_000)
            expect(page.locator(".badge.live")).to_have_count(0, timeout=30_000)
            assert running.wait(30) == 1
    finally:
        (world.folder / "go").touch()
