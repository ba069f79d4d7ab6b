"""What the viewer shows of what apps did: sessions that `evalmark.record` has kept, and a few that it never would."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from html import unescape

import pytest

import evalmark
from evalmark.core.values.session import Session, Span
from evalmark.recording import flush
from evalmark.store import open_store
from evalmark.tracing.annotations.labels import NewLabel, save_labels, span_subject

from .conftest import from_browser, keep_session, sent, shown
from .test_pages import checked, page, words

KEY = "sk-proj-abcdefghijklmnopqrstuvwx"


@evalmark.record.step(kind="retrieval")
def search(query):
    return ["Oslo is the capital of Norway."]


@evalmark.record.step(kind="tool")
def weather(city):
    raise TimeoutError("the weather service is silent")


def answer(question):
    search(question)
    with evalmark.record.step("plan"), evalmark.record.step("gpt", kind="model", template="short") as call:
        call.output, call.model, call.cost = "Yes.", "openai/small", 0.0003
        call.usage = {"prompt_tokens": 812, "completion_tokens": 24}
    if "weather" in question:
        weather("Oslo")
    return "Yes, since 1814 <b>."


def record_month(path) -> None:
    """Four sessions, of two projects; the third failed, in the last one two questions were asked."""
    rows = (
        ("shop", "user-0", ["Is Oslo in Norway?"]),
        ("help desk", "user-1", ["Is it open?"]),
        ("shop", "user-2", ["How is the weather?"]),
        ("shop", "user-3", [{"question": "Is Bergen in Norway?"}, f"My key is {KEY}, is it right?"]),
    )
    for project, key, questions in rows:
        with evalmark.record(
            project, session=key, metadata={"plan": "pro", "password": "pa55word"}, store=path
        ) as session:
            for question in questions:
                with session.answer(question, name="bot") as span:
                    try:
                        span.output = answer(question if isinstance(question, str) else question["question"])
                    except TimeoutError as error:
                        span.error = f"TimeoutError: {error}"
        assert flush(20)  # sessions are numbered as they are written


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """The store, and ids of sessions by the keys that the app knows them by."""
    path = tmp_path_factory.mktemp("traffic") / "evalmark.db"
    record_month(path)
    with open_store(path) as store:
        found = store.sessions.summaries()
        for number, liked in (("user-0", True), ("user-1", False), ("user-1", True)):
            span = store.sessions.session(id_of(found, number)).answers[0]
            save_labels(store, [(span_subject(span), NewLabel(by="ann" if liked else "bob", liked=liked))])
        yield store, shown(store), partial(id_of, found)


def id_of(found, key):
    return next(one.session.id for one in found if one.session.metadata["session"] == key)


def keys(text):
    """What the app knows the sessions of a page by, in their order."""
    return re.findall(r"<small><bdi>(user-\d+)</bdi>", text)


def test_the_list_shows_sessions_newest_first_with_what_is_in_them(month):
    text = page(month[1], "/sessions")
    assert keys(text) == ["user-3", "user-2", "user-1", "user-0"]
    said = words(text)
    assert "4 sessions recorded" in said
    assert re.search(
        r"shop Is Bergen in Norway\? Yes, since 1814 <b>\. user-3 .* 2 6 steps 0 1,672 \$0\.0006 [\d.]+ (?:ms|µs) 2 not labelled",
        said,
    )
    assert re.search(r"shop How is the weather\? user-2 .* 1 4 steps ! 1 1 in steps 836 \$0\.0003", said)
    assert '<a href="/sessions" aria-current="page">Sessions</a>' in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("project=shop", ["user-3", "user-2", "user-0"], id="of a project"),
        pytest.param("project=help+desk", ["user-1"], id="of a project with a blank in its name"),
        pytest.param("project=none", [], id="of a project that is not there"),
        pytest.param("text=OSLO+in", ["user-0"], id="a text of a question"),
        pytest.param("text=since+1814", ["user-3", "user-1", "user-0"], id="a text of an answer"),
        pytest.param("text=bergen", ["user-3"], id="a text of an input with a name"),
        pytest.param("text=service+is+silent", ["user-2"], id="a text of an error"),
        pytest.param("text=capital", [], id="a text of a step"),
        pytest.param("text=started", [], id="the name of a field"),
        pytest.param("text=%25", [], id="a sign that SQL knows"),
        pytest.param("labelled=up", ["user-0"], id="good"),
        pytest.param("labelled=down", [], id="bad"),
        pytest.param("labelled=disputed", ["user-1"], id="disputed"),
        pytest.param("labelled=not", ["user-3", "user-2"], id="not labelled"),
        pytest.param("failed=1", ["user-2"], id="an answer failed"),
        pytest.param("template=short&project=shop", ["user-3", "user-2", "user-0"], id="a prompt was filled"),
        pytest.param("template=sho", [], id="a part of the name of a prompt"),
        pytest.param("labelled=nonsense&below=x&above=-3", ["user-3", "user-2", "user-1", "user-0"], id="no sense"),
    ],
)
def test_sessions_are_filtered_by_their_address(month, query, found):
    text = page(month[1], f"/sessions?{query}")
    assert keys(text) == found
    assert ("No session matches" in text) is (not found)


def test_a_label_that_was_taken_back_or_is_only_a_comment_counts_as_in_a_report(store):
    keep_session(store)
    app, subject = shown(store), span_subject(store.sessions.span("a" * 16))

    def standing():
        return [one for one in ("up", "down", "disputed", "not") if "Open?" in page(app, f"/sessions?labelled={one}")]

    for said, found in (
        (NewLabel(by="ann", comment='Why "liked":false?'), "not"),
        (NewLabel(by="ann", liked=True), "up"),
        (NewLabel(by="ann", comment="Very."), "up"),
        (NewLabel(by="bob", liked=False), "disputed"),
        (NewLabel(by="cid", liked=False), "down"),
        (NewLabel(by="bob"), "disputed"),
        (NewLabel(by="ann"), "down"),
        (NewLabel(by="cid", liked=True), "up"),
        (NewLabel(by="cid"), "not"),
    ):
        save_labels(store, [(subject, said)])
        assert standing() == [found], said


def test_pages_follow_each_other_and_come_back(store):
    began = "2026-11-22T09:00:00.000000+00:00"
    many = [
        Session(id=f"{n:016x}", project="shop", started=began, metadata={"session": f"user-{n}"}) for n in range(120)
    ]
    store.sessions.add(
        many, [Span(id=f"{n:016x}", session=f"{n:016x}", project="shop", started=began) for n in range(120)]
    )
    app, seen, at = shown(store), [], "/sessions?project=shop"
    while at:
        text = page(app, at)
        seen.append(keys(text))
        at = next(iter(re.findall(r'<a rel="next" href="([^"]*)"', text)), "").replace("&amp;", "&")
    assert [int(key[5:]) for part in seen for key in part] == list(range(119, -1, -1))
    back = re.findall(r'<a rel="prev" href="([^"]*)"', text)[0].replace("&amp;", "&")
    assert keys(page(app, back)) == seen[1]
    assert "Newest" in text
    assert "No session matches here" in page(app, "/sessions?below=1")


def test_a_session_shows_each_answer_with_its_steps_and_what_was_taken_out(month):
    _, app, ids = month
    text = page(app, f"/sessions/{ids('user-3')}?project=shop")
    said = words(text)
    assert "Is Bergen in Norway?" in re.search("<h1.*</h1>", text)[0]
    assert "user-3 · session" in said
    assert "1,624 tokens in, 48 tokens out · $0.0006" in said
    assert said.index("Is Bergen in Norway?") < said.index("is it right?")
    assert "Yes, since 1814 <b>." in said
    assert KEY not in text
    assert "pa55word" not in text
    assert "My key is <mark>(not kept)</mark>, is it right?" in text
    assert re.search(r"\(not kept\) replaces text that was removed before it was stored \(\d+ times\)", said)
    for step, level in (("search", 0), ("plan", 0), ("gpt", 1)):
        assert re.search(
            rf'<li id="[^"]*" class="deep-{level} [^>]*>(?:(?!</li>).)*<b><bdi>{step}</bdi></b>', text, re.DOTALL
        )
    assert "836 tokens $0.0003" in said
    assert "model openai/small tokens 812 tokens in, 24 tokens out" in said
    assert said.count("Further") == 0
    older = re.search(r'<a rel="next" href="(/sessions/\w+)\?project=shop" data-key="n"', text)[1]
    assert older.endswith(ids("user-2"))
    assert 'rel="prev"' not in text


def test_a_step_that_failed_and_an_answer_that_failed_say_why(month):
    said = words(page(month[1], f"/sessions/{month[2]('user-2')}"))
    assert "! TimeoutError: the weather service is silent" in said
    assert "4 steps, 1 of them failed" in said
    assert "tool weather ! failed" in said


def test_the_id_of_an_answer_or_a_step_leads_to_its_session(month):
    store, app, ids = month
    session = store.sessions.session(ids("user-3"))
    for span in (session.answers[1], next(span for span in session.spans if span.parent)):
        answer = from_browser(app, f"/sessions/{span.id}")
        assert (answer.status, answer.headers["location"]) == (303, f"/sessions/{session.id}#span-{span.id}")
        assert f'id="span-{span.id}"' in page(app, f"/sessions/{session.id}")


@pytest.mark.parametrize(
    ("typed", "led_to"),
    [
        pytest.param("user-3", "{session}", id="the key by which the app knows it"),
        pytest.param("{session:.7}", "{session}", id="the start of its id"),
        pytest.param("{answer:.7}", "{session}#span-{answer}", id="the start of the id of an answer"),
        pytest.param("user-3?project=shop", "{session}?project=shop", id="what the list was filtered by stays"),
        pytest.param("user-3/whole.json", "{session}/whole.json", id="all of it as JSON"),
        pytest.param("{session:.7}/whole.json", "{session}/whole.json", id="all of it by the start of its id"),
    ],
)
def test_the_address_of_a_session_takes_what_the_command_line_takes(month, typed, led_to):
    store, app, ids = month
    session = store.sessions.session(ids("user-3"))
    names = {"session": session.id, "answer": session.answers[0].id}
    answer = from_browser(app, f"/sessions/{typed.format(**names)}")
    assert (answer.status, answer.headers["location"]) == (303, f"/sessions/{led_to.format(**names)}")
    assert from_browser(app, answer.headers["location"].partition("#")[0]).status == 200


def test_what_several_sessions_could_be_meant_by_is_said(store):
    store.sessions.add([replace(HEADER, id=f"b{number}" * 8) for number in range(2)], [])
    for end in ("", "/whole.json"):
        text = words(page(shown(store), f"/sessions/b{end}", 404))
        assert "could be session b0b0b0b0b0b0b0b0, session b1b1b1b1b1b1b1b1; write more of the id." in text


@pytest.mark.parametrize("reference", ["ffff", "~", "~Ly4u", "%ED%A0%80", "x" * 3000])
def test_what_is_not_recorded_is_said(month, reference):
    assert "Nothing is recorded under" in page(month[1], f"/sessions/{reference}", 404)
    assert from_browser(month[1], f"/sessions/{reference}/whole.json").status == 404


def test_a_label_is_given_by_the_form_of_an_answer_and_is_a_test_case(store):
    keep_session(store)
    app, place = shown(store), f"/sessions/{'b' * 16}"
    form = re.search(r'<form class="label whole".*?</form>', page(app, place), re.DOTALL)[0]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form)) | {"liked": "up", "by": "ann"}
    assert (
        sent(app, {name: fields[name] for name in ("span", "liked", "by", "back")}).headers["location"]
        == fields["back"]
    )
    (label,) = store.sessions.labels(["span:" + "a" * 16])
    assert (label.liked, label.by) == (True, "ann")
    assert [case.input for case in store.sessions.labelled_answers("shop").cases] == ["Open?"]
    assert "good" in words(page(app, "/sessions"))


def test_a_step_is_labelled_in_its_own_form(month):
    store, app, ids = month
    session = store.sessions.session(ids("user-0"))
    step = next(span for span in session.spans if span.name == "gpt")
    form = re.search(
        rf'<li id="span-{step.id}" class="deep-1 .*?</form>', page(app, f"/sessions/{session.id}"), re.DOTALL
    )
    assert f'name="span" value="{step.id}"' in form[0]
    assert sent(app, {"span": step.id, "liked": "down", "by": "eve"}).status == 303
    assert [label.by for label in store.sessions.labels([f"span:{step.id}"])] == ["eve"]


def test_the_history_of_labels_tells_who_said_what_when(store):
    keep_session(store)
    subject = span_subject(store.sessions.span("a" * 16))
    for said in (
        NewLabel(by="ann", liked=True),
        NewLabel(by="ann", liked=False, comment="No <i>."),
        NewLabel(by="bob", score=0.25),
    ):
        save_labels(store, [(subject, said)])
    save_labels(store, [(subject, NewLabel(by="bob"))])
    said = words(page(shown(store), f"/sessions/{'b' * 16}"))
    assert "4 labels so far" in said
    assert re.search(r"ann good \(superseded\) .* ann bad No <i>\. .* bob 0\.25 \(superseded\) .* bob withdrawn", said)


def test_as_test_cases_shows_what_to_type(month):
    said = words(page(month[1], "/sessions?project=help+desk"))
    assert "evalmark export 'sessions:help desk' -o cases.jsonl" in said
    assert 'datasets: ["sessions:help desk"]' in said
    assert "datasets: [sessions:shop]" in words(page(month[1], "/sessions?project=shop"))
    link = '<a href="/sessions?project=help%20desk#as-tests">As test cases</a>'
    assert link in page(month[1], f"/sessions/{month[2]('user-1')}")


def test_the_download_is_the_whole_session_as_json(month):
    store, app, ids = month
    answer = from_browser(app, f"/sessions/{ids('user-3')}/whole.json")
    assert answer.headers["content-disposition"] == 'attachment; filename="session.json"'
    found, kept = json.loads(answer.body), store.sessions.session(ids("user-3"))
    assert found["metadata"] == {"session": "user-3", "plan": "pro", "password": "(not kept)"}
    assert {span["id"]: span["output"] for span in found["spans"]} == {span.id: span.output for span in kept.spans}
    assert len(found["spans"]) == 8


def test_an_empty_store_says_how_to_begin(store):
    assert "Nothing is recorded yet" in words(page(shown(store), "/sessions"))


def test_a_session_that_is_being_recorded_grows(tmp_path):
    path = tmp_path / "evalmark.db"
    with evalmark.record("shop", session="user-9", store=path) as session:
        with session.answer("First?") as span:
            search("First?")
            span.output = "Yes."
        assert flush(20)
        with open_store(path) as store:
            app, at = shown(store), f"/sessions/{session.id}"
            assert "Second?" not in page(app, at)
            with session.answer("Second?"):
                search("Second?")
                assert flush(20)
                text = words(page(app, at))
                assert "An answer that has not ended Its steps are stored already." in text
                assert (
                    text.index("First?")
                    < text.index("An answer that has not ended")
                    < text.index("Second?", text.index("An answer that has not ended"))
                )
            assert flush(20)
            text = words(page(app, at))
            assert "An answer that has not ended" not in text
            assert "2 bot" in text.replace("2 answer", "2 bot")


BEGAN = "2026-11-22T09:00:00.000000+00:00"
HEADER = Session(id="1" * 16, project="shop", started=BEGAN)
SPAN = Span(id="2" * 16, session=HEADER.id, project="shop", started=BEGAN, seconds=1.0, input="Open?", output="Yes.")


def test_spans_without_their_session_are_shown_all_the_same(store):
    store.sessions.add([], [SPAN])
    app = shown(store)
    assert "Nothing is recorded yet" in page(app, "/sessions")
    said = words(page(app, f"/sessions/{HEADER.id}"))
    assert "Only these answers and steps of the session are stored." in said
    assert "Open?" in said


RAIN = "The station reports rain. " * 40


def many_steps() -> list[Span]:
    """Five hundred steps with long results, the last of which failed, and their answer."""
    made = [
        replace(SPAN, id=f"{n:016x}", parent=SPAN.id, kind="tool", name=f"t{n}", output=f"{n}: {RAIN}")
        for n in range(500)
    ]
    return [*made[:120], replace(made[120], error="ValueError: no station"), *made[121:], SPAN]


def test_a_page_of_many_steps_is_small_and_each_step_is_one_link_away(store):
    store.sessions.add([HEADER], many_steps())
    app = shown(store)
    text = page(app, f"/sessions/{HEADER.id}")
    assert len(text.encode()) < 150_000
    assert text.count('<li id="span-0') == 150
    assert "120: The station" in text, "a failed step is not folded"
    step, href = re.search(r'<li id="span-(\w+)".{,2000}?"step-body"><a href="([^"]*)"', text, re.DOTALL).groups()
    whole = f"{int(step, 16)}: {RAIN}".strip()
    assert whole not in text
    same = page(app, unescape(href).partition("#")[0])
    assert whole in same
    assert re.search(rf'<li id="span-{step}"[^>]*>\s*<details class="step" open>', same)


def test_a_long_session_has_pages_and_counts_the_failures_of_all_of_them(store):
    steps = many_steps()
    store.sessions.add([HEADER], [*steps[:400], replace(steps[400], error="ValueError: late"), *steps[401:]])
    app = shown(store)
    address, seen = f"/sessions/{HEADER.id}", []
    for number in range(1, 5):
        text = page(app, address)
        said = words(text)
        assert f"Page {number} of 4" in said
        assert "501 answers and steps, 2 failed" in said, "those of other pages too"
        seen += re.findall(r'<li id="span-(0\w{15})"', text)
        links = re.findall(r'<a(?: rel="\w+")? href="([^"]*)">(First|← Previous|Next →|Last)</a>', text)
        by_word = {word: href for href, word in links}
        before, further = ["First", "← Previous"], ["Next →", "Last"]
        assert [*by_word] == [*(before if number > 1 else []), *(further if number < 4 else [])]
        address = by_word.get("Next →") or by_word["← Previous"]
    assert seen == [step.id for step in steps[:-1]], "each step is on one page"
    for beyond in (501, 502, 10**17):
        past_end = page(app, f"/sessions/{HEADER.id}?after={beyond}")
        assert re.findall(r'<li id="span-(0\w{15})"', past_end) == seen[450:], "the last page, not an empty one"
    assert "Page 3 of 4" in words(page(app, address))
    answer = from_browser(app, f"/sessions/{steps[400].id}")
    assert "Page 3 of 4" in words(page(app, answer.headers["location"].partition("#")[0]))


def test_the_page_that_unfold_all_reads_has_all_texts(store):
    store.sessions.add([HEADER], many_steps())
    app = shown(store)
    text = page(app, f"/sessions/{HEADER.id}")
    whole = re.search(r'data-unfold="([^"]*)"', text)[1]
    assert text.count("step-body") > 100
    assert "step-body" not in page(app, unescape(whole))


@pytest.mark.slow
def test_a_hundred_thousand_spans_of_one_session_are_shown_in_parts(store):
    steps = [replace(SPAN, id=f"{n:016x}", parent=SPAN.id, kind="tool", name=f"tool-{n}") for n in range(100_000)]
    store.sessions.add([HEADER], [*steps, SPAN])
    app = shown(store)
    text = page(app, f"/sessions/{HEADER.id}")
    said = words(text)
    assert "1 \u2013 150 of 100,001 answers and steps" in said
    assert "Open?" in said
    assert text.count('id="span-') == 151, "the answer and its steps"
    further = re.search(r'rel="next" href="([^"]*)"', text)[1]
    assert "tool-299 " in words(page(app, further))
    answer = from_browser(app, f"/sessions/{steps[70_000].id}")
    assert 'id="span-' + steps[70_000].id in page(app, answer.headers["location"].partition("#")[0])
    said = words(page(app, "/sessions"))
    assert "no answer has ended yet" in said  # among the first thousand
    assert "100,001 spans" in said


def test_deep_and_endless_steps_have_an_end(store):
    deep = [replace(SPAN, id=f"{n + 1:016x}", parent=f"{n:016x}" if n else SPAN.id) for n in range(140)]
    ring = [
        replace(SPAN, id="e" * 16, parent="f" * 16, name="e"),
        replace(SPAN, id="f" * 16, parent="e" * 16, name="f"),
    ]
    selfish = replace(SPAN, id="d" * 16, parent="d" * 16, name="self")
    store.sessions.add([HEADER], [*reversed(deep), SPAN, *ring, selfish])
    text = page(shown(store), f"/sessions/{HEADER.id}")
    assert text.count('class="step-name"') == 143
    assert "deep-9" not in text


def test_long_texts_are_cut_and_the_download_has_all_of_them(store):
    long = "0123456789" * 1_000_000
    store.sessions.add([HEADER], [replace(SPAN, output=long), replace(SPAN, id="3" * 16, input=long, output="No.")])
    app = shown(store)
    text = page(app, f"/sessions/{HEADER.id}")
    assert len(text) < 200_000
    assert "The first 64,000 of 10,000,000 characters; the download has all of them." in words(text)
    assert "1 \u2013 1 of 2 answers and steps" in words(text)
    assert json.loads(from_browser(app, f"/sessions/{HEADER.id}/whole.json").body)["spans"][0]["output"] == long
    assert len(page(app, "/sessions")) < 20_000


def test_a_long_question_is_listed_by_its_beginning(store):
    store.sessions.add([HEADER], [replace(SPAN, input="\u263a \ud800 " + "x" * 100_000)])
    assert "\u263a \ufffd xxx" in page(shown(store), "/sessions")


def test_lone_surrogates_and_marks_that_reorder_are_signs(store):
    odd = "\ud800\u202e\x1b[31m"
    session = replace(HEADER, project=odd, metadata={"session": odd})
    fields = {"project": odd, "name": odd, "template": odd, "input": odd, "output": odd, "model": odd}
    store.sessions.add([session], [replace(SPAN, **fields)])
    app = shown(store)
    sign = "\u27e8U+D800\u27e9"
    text = page(app, "/sessions")
    assert text.count("\ufffd") >= 4
    (project,) = re.findall(r'<option value="(~[^"]+)">', text.partition("datalist")[0])
    assert "No session matches" not in page(app, f"/sessions?project={project}&template={project}")
    assert "No session matches" in page(app, f"/sessions?project={project}&template={project}&text=none")
    assert "No session matches" not in page(app, f"/sessions?template={project}&text=%1b[31m")
    assert sign in page(app, f"/sessions/{HEADER.id}?project={project}")
    assert json.loads(from_browser(app, f"/sessions/{HEADER.id}/whole.json").body)["project"] == odd


def test_hostile_ids_lead_to_their_pages(store):
    odd = '"><script>../?#'
    store.sessions.add([replace(HEADER, id=odd)], [replace(SPAN, session=odd, id=f"{odd}1", started="never")])
    app = shown(store)
    link = re.search(r'<a class="name" href="(/sessions/~[\w-]+)"', page(app, "/sessions"))[1]
    assert "Open?" in page(app, link)


def test_a_store_that_is_deleted_meanwhile_is_said(store, tmp_path):
    keep_session(store)
    app = shown(store)
    for file in tmp_path.iterdir():
        file.unlink()
    for address in ("/sessions", f"/sessions/{'b' * 16}"):
        answer = from_browser(app, address)
        assert answer.status == 500
        assert "there is no store yet" in words(checked(answer.text))


def test_a_damaged_span_is_said_and_the_list_still_stands(store):
    store.sessions.add([HEADER], [SPAN])
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("update span set content = replace(content, 'Yes', 'Yet')")
        db.commit()
    app = shown(store)
    assert "Open?" in page(app, "/sessions")
    assert "a recorded span is damaged" in words(from_browser(app, f"/sessions/{HEADER.id}").text)


def test_where_the_store_may_only_be_read_no_form_is_shown(store):
    keep_session(store)
    with open_store(store.path, read_only=True) as only_read:
        app = shown(only_read)
        for address in ("/sessions", f"/sessions/{'b' * 16}"):
            assert '<form class="label' not in page(app, address)
