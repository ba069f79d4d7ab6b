"""Recorded sessions as a person looks through them and labels them, in a real browser."""

from collections.abc import Iterator

import pytest

import evalmark
from evalmark.core.values.label import current_labels
from evalmark.recording import flush
from evalmark.store import open_store
from evalmark.tracing.annotations.labels import NewLabel, save_labels, span_subject

from .chromium import chromium, playwright, served, too_wide
from .payloads import PAYLOADS
from .test_browser import TEXTS, Watched
from .test_sessions import HEADER, RAIN, many_steps, record_month

pytestmark = pytest.mark.slow
expect = playwright.expect

OF_A_SESSION = 6
"""Texts, each of them an answer with two steps."""


def record_payloads(path) -> None:
    """Sessions with the same text wherever a text can stand."""
    for first in range(0, len(TEXTS), OF_A_SESSION):
        texts = TEXTS[first : first + OF_A_SESSION]
        known = {"session": texts[0], texts[0]: texts[0]}
        with evalmark.record(texts[0], session=texts[0], metadata=known, store=path) as session:
            for number, text in enumerate(texts):
                record_payload(session, text, has_failed=bool(number % 2))
    assert flush(30)
    with open_store(path) as store:
        for one in store.sessions.summaries():
            for span in store.sessions.session(one.session.id).spans:
                text = str(span.name)
                save_labels(store, [(span_subject(span), NewLabel(by=text[:200], liked=False, comment=text))])
                save_labels(store, [(span_subject(span), NewLabel(by=text[:200], liked=True, score=0.5, comment=text))])


def record_payload(session, text, *, has_failed) -> None:
    with session.answer({text: text}, name=text, metadata={text: text}) as answer:
        answer.template, answer.model, answer.contexts = text, text, [text]
        with evalmark.record.step(text, kind="retrieval", input=text) as step:
            step.output, step.metadata[text] = [text], text
        with evalmark.record.step(text, kind="model", template=text, input=text) as step:
            step.output, step.model, step.error = {text: text}, text, text
        answer.output = text
        answer.error = text if has_failed else None


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> Iterator[tuple]:
    path = tmp_path_factory.mktemp("traffic") / "evalmark.db"
    record_payloads(path)
    record_month(path)
    with open_store(path) as store:
        store.sessions.add([HEADER], many_steps())
        sessions = [
            one for one in store.sessions.summaries() if one.session.id != HEADER.id
        ]  # before the browser is there, which holds a loop
        with served(store, author="ann") as made, chromium() as browser:
            yield store, made, browser, sessions


@pytest.fixture
def watched(opened) -> Iterator[Watched]:
    _, made, browser, _ = opened
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    found = Watched(page, [])
    page.on("dialog", lambda dialog: (found.faults.append("a dialog"), dialog.dismiss()))
    page.on("console", lambda message: found.faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: found.faults.append(f"error: {error}"))
    page.on("request", lambda asked: asked.url.startswith(made.origin) or found.faults.append(f"asked {asked.url}"))
    page.goto(made.address_of("/"))
    page.goto(f"{made.origin}/sessions")
    yield found
    context.close()


def test_two_hundred_payloads_in_every_field_run_nothing(watched, opened):
    _, made, _, sessions = opened
    seen = set()
    watched.visit(f"{made.origin}/sessions")
    for one in sessions:
        watched.visit(f"{made.origin}/sessions/{one.session.id}?project=%3Cscript%3E&text=%22onload=x")
        watched.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        seen |= {*watched.page.eval_on_selector_all(".message > .text", "all => all.map(one => one.textContent)")}
    watched.visit(
        f"{made.origin}/sessions?template=%22%3E%3Cscript%3Ewindow.hit=1%3C/script%3E&project=%3Cimg+src=x%3E"
    )
    assert sum(any(part.strip() in text for text in seen) for part in PAYLOADS if part.isprintable()) > 150
    assert watched.faults == []


def test_no_page_is_wider_than_its_window(watched, opened):
    _, made, _, sessions = opened
    for path in ("", "?project=shop", "?text=none", f"/{sessions[0].session.id}", f"/{sessions[-1].session.id}"):
        watched.page.goto(f"{made.origin}/sessions{path}")
        watched.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert too_wide(watched.page) == [], path


def test_a_person_filters_opens_and_labels_by_key(watched, opened):
    store, _, _, sessions = opened
    page = watched.page
    page.keyboard.press("/")
    page.keyboard.type("1814")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=1814**")
    page.select_option("select[name=project]", "shop")
    page.wait_for_url("**project=shop**")
    page.wait_for_selector("text=Clear all filters")
    page.keyboard.press("Escape")  # in a field, keys are letters
    assert page.locator("tbody a.name").all_inner_texts() == ["Is Bergen in Norway?", "Is Oslo in Norway?"]
    page.keyboard.press("j")
    page.keyboard.press("j")
    with page.expect_response("**/labels"):
        page.keyboard.press("u")
    page.wait_for_selector("tbody tr:nth-child(2) .labelled")
    page.keyboard.press("Enter")
    page.wait_for_selector(".timeline")
    page.wait_for_load_state("load")
    assert page.inner_text("h1") == "Is Oslo in Norway?"
    page.keyboard.press("k")
    page.wait_for_selector("h1:has-text('Is Bergen in Norway?')")
    page.wait_for_load_state("load")
    page.keyboard.press("j")
    page.keyboard.press("j")
    with page.expect_response("**/labels"):
        page.keyboard.press("d")
    page.wait_for_selector(".answers > li:nth-child(2) .labelled")
    page.keyboard.press("n")
    page.wait_for_selector("h1:has-text('Is Oslo in Norway?')")
    assert watched.faults == []
    said = {one.session.metadata["session"]: store.sessions.session(one.session.id).answers for one in sessions[:4]}
    labels = current_labels(store.sessions.labels([f"span:{said['user-0'][0].id}", f"span:{said['user-3'][1].id}"]))
    assert [(label.by, label.liked) for label in labels] == [("ann", True), ("ann", False)]


def test_a_step_is_opened_and_has_its_words(watched):
    page = watched.page
    page.click("text=Is Bergen in Norway?")
    page.click("summary:has-text('gpt') >> nth=0")
    assert page.is_visible("text=812 tokens in >> nth=0")
    assert page.is_visible("dt:has-text('prompt') >> nth=0")
    page.click("text=As test cases")
    page.wait_for_url("**#as-tests")
    assert page.is_visible("text=evalmark export sessions:shop -o cases.jsonl")
    assert watched.faults == []


def test_the_texts_of_a_folded_step_come_when_it_is_unfolded(watched, opened):
    page = watched.page
    page.goto(f"{opened[1].origin}/sessions/{HEADER.id}")
    step = page.locator(f"#{page.locator('li:has(> .step > .step-body)').first.get_attribute('id')}")
    step.locator("summary").first.click()
    expect(step).to_contain_text(RAIN.strip())
    expect(step.locator(".step-body")).to_have_count(0)
    expect(step.locator("form.label")).to_be_visible()
    assert page.url.endswith(HEADER.id), "the page stays"
    assert watched.faults == []


def test_unfold_all_brings_the_texts_of_all_steps(watched, opened):
    page = watched.page
    page.goto(f"{opened[1].origin}/sessions/{HEADER.id}")
    assert page.locator(".step-body").count() > 100
    page.click("text=Unfold all")
    expect(page.get_by_role("button", name="Fold all")).to_be_visible()
    expect(page.locator(".step-body")).to_have_count(0)
    expect(page.locator(".step:not([open])")).to_have_count(0)
    assert watched.faults == []


def test_a_key_leads_to_a_failure_on_another_page(watched, opened):
    page = watched.page
    page.goto(f"{opened[1].origin}/sessions/{HEADER.id}")
    page.click(".pager >> text=Last")
    expect(page.locator(".timeline > .failed")).to_have_count(0)
    page.keyboard.press("e")
    page.wait_for_url(f"**#span-{120:016x}")
    expect(page.locator(".timeline > .failed")).to_be_in_viewport()
    assert watched.faults == []


def test_a_row_without_thumbs_says_so_to_their_keys(watched, opened):
    page = watched.page
    page.goto(f"{opened[1].origin}/sessions?project=shop")
    page.locator("tr:not(:has(.thumb)) > th > a.name").first.focus()
    page.keyboard.press("u")
    expect(page.locator("#announcement")).to_have_text("This row has nothing for this key: open it.")


def test_keys_go_from_step_to_step_and_steps_that_did_not_fail_can_be_hidden(watched, opened):
    page = watched.page
    page.goto(f"{opened[1].origin}/sessions/{HEADER.id}")
    steps = page.locator(".timeline .step > summary")
    for key, place in (("l", 0), ("l", 1), ("l", 2), ("h", 1)):
        page.keyboard.press(key)
        expect(steps.nth(place)).to_be_focused()
    page.get_by_label("Only messages and failures").check()
    expect(page.locator(".timeline > .failed")).to_be_visible()
    assert page.locator(".timeline > .tool:visible").count() == 1
    assert page.locator(".timeline > .message:visible").count() == 2
    page.keyboard.press("l")
    expect(page.locator(".failed .step > summary")).to_be_focused()
    assert watched.faults == []
