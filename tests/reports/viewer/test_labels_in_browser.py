"""Labelling as a person does it: by keys, without a script, and two people one after the other."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from evalmark.core.values.session import Session, Span
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import Store, open_store
from evalmark.tracing.annotations.labels import NewLabel, result_subject, save_labels

from .chromium import chromium, playwright, served, too_wide
from .conftest import a_run, keep, result
from .payloads import PAYLOADS
from .test_browser import attacked

pytestmark = pytest.mark.slow

RUN, OTHER, HOSTILE = "20261121-101500-3f9a", "20261121-111500-aaaa", "20261121-121500-bbbb"
BLIND, BROKEN = "20261121-131500-cccc", "20261121-141500-dddd"
QUEUE = f"/label/queue?what=run:{BLIND}&n=4"
expect = playwright.expect


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("viewer") / "evalmark.db") as made:
        yield made


@pytest.fixture(scope="module")
def address(store) -> Iterator[str]:
    """Of a server over a run of thirty cases, one with two targets, one whose texts attack, and a recorded session."""
    keep(store, a_run(RUN), [result(number) for number in range(30)])
    keep(store, a_run(BLIND), [result(number) for number in range(9)])
    two = [result(number, target) for number in range(6) for target in ("old", "new")]
    keep(store, a_run(OTHER, target="old, new"), two)
    broken = [result(9, "old"), replace(result(9, "new"), output=result(8).output)]
    keep(store, a_run(BROKEN, target="old, new"), broken)
    hostile = [attacked("\n".join(PAYLOADS[number::8]), 2 * number) for number in range(8)]
    keep(store, a_run(HOSTILE), hostile)
    said = [
        (result_subject(HOSTILE, one), NewLabel(by=PAYLOADS[0], liked=n % 2 > 0, comment=PAYLOADS[1]))
        for n, one in enumerate(hostile)
    ]
    save_labels(store, said)
    session = Session(id="5" * 16, project="shop", started="2026-11-22T00:00:00+00:00")
    span = Span(id="a" * 16, session=session.id, project="shop", started=session.started, input="Open?", output="Yes.")
    store.sessions.add([session], [span, replace(span, id="b" * 16, input="Where?")])
    with served(store, author="ann") as made:
        yield made.address_of("/")


@pytest.fixture(scope="module")
def browser(address):
    with chromium() as opened:
        yield opened


class Person:
    """Somebody with a browser of their own."""

    def __init__(self, browser, address, **options):
        self.origin = re.match(r"http://[^/]+", address)[0]
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        self.page, self.faults = self.context.new_page(), []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.faults.append("a dialog"), dialog.dismiss()))
        self.page.goto(address)

    def goes(self, path):
        self.page.goto(self.origin + path)
        return self.page

    def types(self, keys):
        for key in keys:
            self.page.keyboard.press(key)

    def labels(self, words, press):
        """Go through a queue; `press` gives each word."""
        for number, word in enumerate(words, start=1):
            expect(self.page.locator("h1")).to_have_text(f"Output {number} of {len(words)}")
            self.page.wait_for_load_state("load")
            press(self.page, word)
        expect(self.page.locator("h1")).to_have_text(f"All {len(words)} labelled")


@pytest.fixture
def person(browser, address):
    found = Person(browser, address)
    yield found
    found.context.close()
    assert found.faults == []


def by_key(page, word):
    page.keyboard.press({"+": "u", "-": "d"}[word])


def by_button(page, word):
    page.click(f".judging button[value={'up' if word == '+' else 'down'}]")


def said_of(store, number, by="ann"):
    """The last thumb on an output."""
    about = result_subject(RUN, result(number)).about
    return next((one.liked for one in reversed(store.sessions.labels([about])) if one.by == by), None)


def row(page, case):
    """The row of a case in the table."""
    return page.locator("tbody[data-rows] > tr", has_text=case)


def focused(page):
    return page.evaluate("document.activeElement.textContent.trim()")


def test_keys_move_a_cursor_from_row_to_row_and_label_the_row_it_is_on(person, store):
    page = person.goes(f"{run_path(RUN)}?sort=position")
    rows = page.locator("tbody[data-rows] > tr")
    person.types("j")
    assert focused(page) == "What is 0 times 0?"
    person.types("jj")
    assert focused(page) == "What is 2 times 2?"
    expect(rows.nth(2)).to_have_attribute("aria-current", "true")
    expect(rows.nth(1)).not_to_have_attribute("aria-current", "true")
    person.types("d")
    expect(rows.nth(2).locator(".thumb.down")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#announcement")).to_have_text("Bad: What is 2 times 2?")
    assert said_of(store, 2) is False
    assert focused(page) == "What is 2 times 2?"
    person.types("ku")
    expect(rows.nth(1).locator(".thumb.up")).to_have_attribute("aria-pressed", "true")
    assert (said_of(store, 1), said_of(store, 2)) == (True, False)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("What is 1 times 1?")


def test_the_cursor_stays_on_the_page_and_in_sight(person):
    page = person.goes(f"{run_path(RUN)}?sort=position")
    person.types("k")
    assert focused(page) == "What is 29 times 29?"
    expect(page.locator("[data-rows] > [aria-current=true]")).to_be_in_viewport()
    person.types("j")
    expect(page.locator("#announcement")).to_have_text("This is the last row of the page.")
    person.types("ku")  # the row that the cursor stayed on is an error, so the one before it is labelled
    expect(row(page, "case-028").locator(".thumb.up")).to_have_attribute("aria-pressed", "true")


def test_the_cursor_follows_the_focus(person):
    page = person.goes(f"{run_path(RUN)}?sort=position")
    row(page, "case-007").locator("a.name").focus()
    person.types("j")
    assert focused(page) == "What is 8 times 8?"


def test_without_a_cursor_nothing_is_labelled_and_it_is_said(person, store):
    before = len(store.sessions.all_labels())
    page = person.goes(run_path(RUN))
    person.types("u")
    expect(page.locator("#announcement")).to_have_text("Choose a row first: j and k move the cursor.")
    assert len(store.sessions.all_labels()) == before


def test_no_key_acts_while_somebody_types_or_holds_a_modifier(person, store):
    page = person.goes(run_path(RUN))
    said = len(store.sessions.all_labels())
    person.types("j")
    for key in ("Control+u", "Alt+u", "Meta+d", "Shift+U"):
        page.keyboard.press(key)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("judo?/")
    assert page.input_value("input[type=search]") == "judo?/"
    page.select_option("select[name=verdict]", "fail")
    page.focus("select[name=verdict]")
    person.types("u")
    expect(page.locator("dialog")).to_have_count(0)
    assert len(store.sessions.all_labels()) == said


def test_in_a_matrix_one_goes_to_an_answer_before_it_is_labelled(person, store):
    page = person.goes(run_path(OTHER))
    person.types("ju")
    expect(page.locator("#announcement")).to_contain_text("This row has several answers")
    person.types("llu")
    second = page.locator("tbody[data-rows] > tr").nth(0).locator("td").nth(1)
    expect(second.locator(".thumb.up")).to_have_attribute("aria-pressed", "true")
    about = result_subject(OTHER, result(0, "new")).about
    assert [label.liked for label in store.sessions.labels([about])] == [True]


def test_an_answer_that_is_an_error_is_not_labelled_and_neither_is_the_one_beside_it(person):
    page = person.goes(run_path(BROKEN))
    person.types("jlu")
    expect(page.locator("#announcement")).to_contain_text("This answer has nothing for this key")
    assert not page.locator(".thumb[aria-pressed=true]").count()
    person.types("lu")
    expect(page.locator(".thumb[aria-pressed=true]")).to_have_count(1)


def test_the_help_opens_by_a_key_and_gives_the_focus_back(person):
    page = person.goes(f"{run_path(RUN)}?sort=position")
    person.types("j")
    page.keyboard.press("?")
    dialog = page.locator("dialog")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("next and previous row")
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    person.types("j")
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    assert focused(page) == "What is 0 times 0?"
    page.click("#shortcuts-hint")
    expect(dialog).to_be_visible()
    page.click("dialog button")
    expect(dialog).not_to_be_visible()


def test_keys_can_be_turned_off(person):
    page = person.goes(run_path(RUN))
    page.click("#shortcuts-hint")
    page.uncheck("dialog input")
    page.click("dialog button")
    person.types("j?")
    expect(page.locator("dialog")).not_to_be_visible()
    expect(page.locator("[data-rows] > [aria-current=true]")).to_have_count(0)
    page = person.goes(run_path(RUN))
    person.types("j")
    expect(page.locator("[data-rows] > [aria-current=true]")).to_have_count(0)
    page.click("#shortcuts-hint")
    page.check("dialog input")
    page.keyboard.press("Escape")
    person.types("j")
    expect(page.locator("[data-rows] > [aria-current=true]")).to_have_count(1)


def test_on_the_page_of_a_case_its_output_is_labelled_and_neighbours_are_gone_to(person, store):
    page = person.goes(run_path(RUN))
    row(page, "case-004").locator("a.name").click()
    expect(page.locator("h1")).to_have_text("What is 4 times 4?")
    page.wait_for_load_state("load")
    person.types("d")
    expect(page.locator(".labelling button[value=down]")).to_have_attribute("aria-pressed", "true")
    assert said_of(store, 4) is False
    person.types("c")
    page.keyboard.type("due to judo")
    page.keyboard.press("Enter")
    expect(page.locator("#announcement")).to_have_text("Saved")
    last = store.sessions.all_labels()[-1]
    assert (last.liked, last.comment) == (None, "due to judo")
    assert focused(page) == "Save"
    expect(page.locator(".labelling .note", has_text="ann: due to judo")).to_have_count(1)
    person.types("j")
    expect(page.locator("h1")).to_have_text("What is 5 times 5?")
    page.wait_for_load_state("load")
    person.types("k")
    expect(page.locator("h1")).to_have_text("What is 4 times 4?")


def test_a_score_is_called_right_or_wrong_by_one_key(person, store):
    page = person.goes(f"{run_path(RUN)}/results/4")  # of case-003, which similarity fails
    person.types("w")
    expect(page.locator("#score-1 button[value=down]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#announcement")).to_have_text("Wrong: similarity")
    person.types("2")
    expect(page.locator("#score-2 .reason > details")).to_have_attribute("open", "")
    person.types("r")
    expect(page.locator("#score-2 button[value=up]")).to_have_attribute("aria-pressed", "true")
    said = {label.about.rpartition("/")[2]: label.liked for label in store.sessions.all_labels()[-2:]}
    assert said == {"similarity": False, "correct": True}


def test_paper_has_what_people_said_of_scores_and_no_column_where_nobody_did(person):
    page = person.goes(f"{run_path(RUN)}/results/6")
    page.emulate_media(media="print")
    expect(page.get_by_text("Is it right?")).to_be_hidden()
    person.types("w")
    expect(page.locator("#score-1 .labelled")).to_have_text("wrong")
    expect(page.locator("#score-1 .labelled")).to_be_visible()
    expect(page.get_by_text("Is it right?")).to_be_visible()
    expect(page.locator(".scores .thumbs:visible")).to_have_count(0)


def test_what_people_write_is_there_at_once_and_gone_once_it_is_taken_back(person, store):
    page = person.goes(f"{run_path(RUN)}/results/15")
    remarks = page.locator(".labelling .note")
    page.click("text=Comment or score")
    page.fill("input[name=score]", "0.5")
    page.fill("input[name=comment]", "So <b>so</b>.")
    page.keyboard.press("Enter")
    expect(remarks).to_have_text(["ann: 0.5: So <b>so</b>."])
    page.fill("input[name=comment]", "Better.")
    page.keyboard.press("Enter")
    expect(remarks).to_have_text(["ann: 0.5: Better."])
    page.click(".labelling button >> text=Withdraw")
    expect(remarks).to_have_count(0)
    expect(page.locator("form.whole")).to_have_count(1)


def test_what_could_not_be_sent_is_said_as_an_alert(person, store):
    page = person.goes(f"{run_path(RUN)}?sort=position")
    said = len(store.sessions.all_labels())
    page.route("**/labels", lambda route: route.abort())
    person.types("ju")
    alert = row(page, "case-000").locator("[role=alert]")
    expect(alert).to_have_text("Not saved: the viewer is not running. Start it again.")
    page.unroute("**/labels")
    row(page, "case-000").locator(".thumb.up").evaluate("one => one.value = 'up 999999'")
    person.types("u")
    expect(alert).to_contain_text("does not have this result")
    assert len(store.sessions.all_labels()) == said


def test_what_was_entered_stays_when_another_run_is_chosen(browser, address):
    page = Person(browser, address).goes(f"/label?what=run:{RUN}")
    entered = {"[name=instructions]": "Is it *short*?", "[name=n]": "7", "[name=tag]": "odd", "[name=by]": "eve"}
    for field, text in entered.items():
        page.fill(field, text)
    page.check("#way-filter")
    page.select_option("[name=verdict]", "fail")
    page.select_option("select[name=what]", f"run:{BLIND}")
    expect(page.locator("input[name=what]")).to_have_value(f"run:{BLIND}")
    for field, text in {**entered, "[name=verdict]": "fail"}.items():
        expect(page.locator(field)).to_have_value(text)
    expect(page.locator("#way-filter")).to_be_checked()


def test_two_people_label_blindly_and_see_in_the_end_how_far_they_agree(browser, address):
    ann, bob = Person(browser, address), Person(browser, address)
    for one, name in ((ann, "ann"), (bob, "bob")):
        page = one.goes(f"/label?what=run:{BLIND}&n=4")
        page.fill("input[name=by]", name)
        page.click("button >> text=Begin")
    asked = [one.page.inner_text("section[aria-labelledby=asked] .text") for one in (ann, bob)]
    assert asked[0] == asked[1]
    ann.labels("++--", by_key)
    expect(ann.page.locator("main")).to_contain_text("Nobody else has labelled any of these outputs yet")
    bob.page.keyboard.press("s")
    expect(bob.page.locator("h1")).to_have_text("Output 2 of 4")
    bob.goes(QUEUE)
    bob.page.wait_for_load_state("load")
    by_key(bob.page, "-")
    expect(bob.page.locator("h1")).to_have_text("Output 2 of 4")
    bob.page.wait_for_load_state("load")
    bob.page.keyboard.press("z")
    expect(bob.page.locator("h1")).to_have_text("Output 1 of 4")
    bob.goes(QUEUE)
    expect(bob.page.locator("main")).not_to_contain_text("kappa")
    bob.labels("+---", by_key)
    for one in (ann, bob):
        page = one.goes(QUEUE)
        expect(page.locator(".crossed td.num")).to_have_text(["1", "1", "0", "2"])
        expect(page.locator("main")).to_contain_text("3 of 4 outputs, 75 %")
        expect(page.locator(".disputed a")).to_have_text(["Output 2"])
    bob.page.wait_for_load_state("load")
    bob.types("j")
    bob.page.keyboard.press("Enter")
    expect(bob.page.locator("main")).to_contain_text("ann: good, bob: bad")
    bob.page.wait_for_load_state("load")
    by_key(bob.page, "+")
    expect(bob.page.locator("#disputed + p")).to_have_text("None.")
    assert ann.faults == bob.faults == []


def test_all_of_it_works_without_a_script(browser, address, store):
    person = Person(browser, address, java_script_enabled=False)
    page = person.goes(run_path(RUN))
    expect(page.locator("#shortcuts-hint")).not_to_be_visible()
    row(page, "case-010").locator(".thumb.up").click()
    expect(row(page, "case-010").locator(".thumb.up")).to_have_attribute("aria-pressed", "true")
    assert said_of(store, 10) is True
    page = person.goes("/label?what=project:shop")
    page.fill("input[name=by]", "cas")
    page.click("button >> text=Begin")
    page.click(".skip-one")
    expect(page.locator("h1")).to_have_text("Output 2 of 2")
    person.goes("/label/queue?what=project:shop")
    person.labels("+-", by_button)
    assert {
        label.by: label.liked for label in store.sessions.labels(["span:" + "a" * 16, "span:" + "b" * 16])
    }.keys() == {"cas"}


def test_pages_of_labelling_fit_their_window_and_run_nothing_foreign(browser, address):
    person = Person(browser, address, color_scheme="dark")
    queue = f"/label/queue?what=run:{HOSTILE}"
    for path in ("/label", queue, f"{queue}&at=8", f"{queue}&tag=%3Cscript%3E&seed=%22%3E%3Cb%3E&at=3"):
        page = person.goes(path)
        assert too_wide(page) == [], path
        assert page.locator("main script, main img, main iframe").count() == 0
        assert page.evaluate("window.hit === undefined")
    person.goes(queue)
    while person.page.locator("h1").inner_text().startswith("Output"):
        by_button(person.page, "+")
    expect(person.page.locator("h1")).to_have_text("All 8 labelled")
    assert too_wide(person.page) == []
    assert person.page.locator("main script, main img, main iframe").count() == 0
    assert person.faults == []


def test_a_digit_leads_to_the_row_of_a_score_and_the_next_key_labels_it(browser, address):
    person = Person(browser, address)
    page = person.goes(f"{run_path(RUN)}/results/4")
    for digit in ("2", "1", "2"):
        page.keyboard.press(digit)
        held = page.locator(f"#score-{digit}")
        expect(held).to_be_focused()
        expect(held).to_be_in_viewport()
        expect(held.locator("form.label")).to_be_in_viewport()
        expect(held.locator(".reason > details")).to_have_attribute("open", "")
    page.keyboard.press("w")
    expect(page.locator("#score-2 .labelled")).to_have_text("wrong")
    assert person.faults == []
