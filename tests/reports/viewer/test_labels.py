"""Labels given in the viewer: what is kept, what is shown, and what is refused."""

import asyncio
import html
import re

import pytest

from evalmark.core.values.label import current_labels
from evalmark.store import open_store
from evalmark.tracing.annotations.labels import result_subject

from .conftest import a_run, asked, from_browser, keep, keep_session, result, sent, shown

RUN = "20261121-101500-3f9a"
FIRST = {"run": RUN, "number": "1"}
PAGE = f"/runs/{RUN}"
CASE = f"/runs/{RUN}/results/1"
GOOD, BAD = '<span class="labelled pass">good</span>', '<span class="labelled fail">bad</span>'


def test_a_thumb_on_an_output_is_kept_for_the_output_and_shown(own, store):
    answer = sent(own, {**FIRST, "liked": "up", "by": "ann", "back": CASE})
    assert (answer.status, answer.headers["location"]) == (303, CASE)
    (label,) = store.sessions.all_labels()
    subject = result_subject(RUN, result(0))
    assert (label.about, label.content, label.liked, label.by) == (subject.about, subject.content, True, "ann")
    assert GOOD in from_browser(own, CASE).text
    assert GOOD in from_browser(own, f"/runs/{RUN}").text


def test_the_number_of_a_row_in_a_form_of_a_recorded_answer_is_refused_and_nothing_is_saved(own, store):
    keep_session(store)
    answer = sent(own, {"span": "a" * 16, "liked": "up 4", "by": "ann"}, x_evalmark_part="1")
    assert answer.status == 400
    assert "the label is &#39;up 4&#39;" in answer.text
    assert not store.sessions.all_labels()


def test_after_the_store_was_replaced_its_texts_are_shown_and_no_label_is_lost_in_the_old_file(own, store, tmp_path):
    from_browser(own, CASE)
    with open_store(tmp_path / "copy.db") as copy:
        keep(copy, a_run(), [result(number, value=f"restored {number}") for number in range(30)])
    for file in store.path.parent.glob("evalmark.db-*"):
        file.unlink()
    (tmp_path / "copy.db").replace(store.path)
    assert "restored 0" in from_browser(own, CASE).text
    answer = sent(own, {**FIRST, "liked": "up", "by": "ann"})
    assert answer.status == 409
    assert "start the viewer again. Nothing was saved." in answer.text


def test_a_label_of_a_run_that_was_deleted_is_refused_without_the_path_of_the_store(own, store):
    answer = sent(own, {"run": "gone", "number": "1", "liked": "up", "by": "ann"})
    assert answer.status == 409
    assert "There is no run" in answer.text
    assert str(store.path) not in answer.text


def test_an_output_that_is_an_error_has_no_thumbs_and_an_earlier_label_of_it_is_withdrawn(own, store):
    error, page = {"run": RUN, "number": "10", "by": "ann"}, f"/runs/{RUN}/results/10"
    addresses = (page, f"/runs/{RUN}/rows/10", f"/runs/{RUN}?verdict=error", f"/grid?run={RUN}&q=verdict:error")
    texts = [from_browser(own, address).text for address in addresses]
    assert [address for address, text in zip(addresses, texts, strict=True) if 'class="thumb up"' in text] == []
    assert all("it took too long" in text for text in texts)
    labelled = sent(own, {**error, "liked": "down"}, x_evalmark_part="1").text
    assert BAD in labelled
    assert BAD in from_browser(own, page).text
    assert BAD in from_browser(own, f"/runs/{RUN}?verdict=error").text
    assert re.search(r'<details class="label-more" open>.*?name="withdraw"', labelled, re.DOTALL)
    sent(own, {**error, "withdraw": "1"})
    assert BAD not in from_browser(own, page).text


def test_a_score_and_a_comment_stand_beside_the_thumb_that_was_given_before(own, store):
    for said in ({"liked": "down"}, {"score": "0.25", "comment": "Too <b>short</b>."}):
        assert sent(own, {**FIRST, **said, "by": "ann"}).status == 303
    text = from_browser(own, CASE).text
    assert BAD in text
    assert "0.25: Too &lt;b&gt;short&lt;/b&gt;." in text


def test_that_a_label_is_of_an_answer_which_stood_there_before_is_said(own, store):
    told = "1 label of an earlier answer"
    for by in ("ann", "bob"):
        sent(own, {**FIRST, "liked": "up", "by": by})
    assert told not in from_browser(own, CASE).text
    store.resume(RUN)
    asyncio.run(store.sink(RUN).write([result(0, value="Another answer.")]))
    sent(own, {**FIRST, "liked": "down", "by": "ann"})
    for address in (CASE, f"/runs/{RUN}"):
        assert told in from_browser(own, address).text
    sent(own, {**FIRST, "liked": "down", "by": "bob"})
    assert told not in from_browser(own, CASE).text


def test_cases_are_filtered_by_what_is_said_of_the_answers_that_stand_there_now(own, store):
    def rows(label):
        return re.findall(
            r"<small><code>(case-00[01])", from_browser(own, f"/runs/{RUN}?label={label}&sort=position").text
        )

    for number in ("1", "2"):
        sent(own, {"run": RUN, "number": number, "liked": "up", "by": "ann"})
    assert rows("up") == ["case-000", "case-001"]
    store.resume(RUN)
    asyncio.run(store.sink(RUN).write([result(0, value="Another answer.")]))
    assert (rows("up"), rows("none")) == (["case-001"], ["case-000"])
    sent(own, {**FIRST, "comment": "It is another one now.", "by": "ann"})
    assert rows("up") == ["case-001"], "the thumb was for the answer before"
    sent(own, {**FIRST, "liked": "down", "by": "ann"})
    assert (rows("up"), rows("down")) == (["case-001"], ["case-000"])


def test_a_key_in_a_comment_is_not_kept_and_that_is_said(own, store):
    sent(own, {**FIRST, "comment": "It told sk-proj-abcdefghijklmnopqrstuvwx!", "by": "ann"})
    assert [label.comment for label in store.sessions.all_labels()] == ["It told (not kept)!"]
    cookie = f"evalmark-7878=a-token-of-this-test; {sent(own, {**FIRST, 'liked': 'up', 'by': 'ann'}).headers['set-cookie'].partition(';')[0]}"
    answer = sent(own, {**FIRST, "comment": "password: hunter2-xyz"}, x_evalmark_part="1", cookie=cookie)
    assert "Text that looks like a key or a password was removed from your comment." in answer.text


def test_what_was_said_is_taken_back_and_the_history_keeps_it(own, store):
    sent(own, {**FIRST, "liked": "up", "by": "ann"})
    assert sent(own, {**FIRST, "withdraw": "1", "by": "ann"}).status == 303
    assert [label.withdrawn for label in store.sessions.all_labels()] == [False, True]
    assert current_labels(store.sessions.all_labels()) == ()
    assert GOOD not in from_browser(own, CASE).text


def test_a_score_of_a_judge_is_labelled_by_itself(own, store):
    assert sent(own, {**FIRST, "metric": "correct", "liked": "down", "by": "ann"}).status == 303
    (label,) = store.sessions.all_labels()
    assert label.about == result_subject(RUN, result(0), "correct").about
    assert BAD not in from_browser(own, f"/runs/{RUN}").text


def test_the_browser_keeps_the_name_of_who_labels(own, store):
    answer = sent(own, {**FIRST, "liked": "up", "by": "Zoë \N{SNOWMAN}; a=b"})
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {*cookie.split("; ")}
    kept = cookie.partition(";")[0]
    sent(own, {"run": RUN, "number": "2", "liked": "up"}, cookie=f"evalmark-7878=a-token-of-this-test; {kept}")
    assert [label.by for label in store.sessions.all_labels()] == ["Zoë \N{SNOWMAN}; a=b"] * 2


def test_a_script_gets_the_form_alone(own):
    answer = sent(own, {**FIRST, "liked": "up", "by": "ann", "brief": "1", "back": CASE}, x_evalmark_part="1")
    assert answer.status == 200
    assert answer.text.strip().startswith("<form")
    assert re.search(r'value="up" aria-pressed="true"', answer.text)


def test_thumbs_are_drawn_and_have_a_word_beside_them(own):
    text = from_browser(own, CASE).text
    assert not re.search("[\N{THUMBS UP SIGN}\N{THUMBS DOWN SIGN}]", text)
    for value, word in (("up", "Good"), ("down", "Bad")):
        assert re.search(
            rf'value="{value}"[^>]*><svg class="thumb-icon".*?aria-hidden="true">.*?</svg><span>{word}</span>', text
        )


def test_enter_in_a_field_keeps_what_is_in_it_and_gives_no_thumb(own, store):
    form = re.search(r'<form class="label whole".*?</form>', from_browser(own, CASE).text, re.DOTALL)[0]
    first = re.search(r"<button[^>]*>", form)[0]  # which a browser presses where somebody presses Enter
    assert "name=" not in first
    sent(own, {**FIRST, "score": "", "comment": "So so.", "by": "ann"})
    assert [(label.liked, label.comment) for label in store.sessions.all_labels()] == [(None, "So so.")]


@pytest.mark.parametrize("place", ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\nb", "x"])
def test_a_form_leads_back_to_a_page_of_the_viewer_only(own, place):
    answer = sent(own, {**FIRST, "liked": "up", "by": "ann", "back": place})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        pytest.param({**FIRST, "by": "ann"}, 400, "the label is empty", id="nothing is said"),
        pytest.param({**FIRST, "liked": "up", "by": " "}, 400, "no name is given", id="nobody says it"),
        pytest.param({**FIRST, "liked": "up", "by": "x" * 201}, 400, "200 are the most", id="a name without end"),
        pytest.param({**FIRST, "liked": "maybe", "by": "ann"}, 400, "it takes up or down", id="no thumb"),
        pytest.param({**FIRST, "score": "high", "by": "ann"}, 400, "from 0 to 1", id="no number"),
        pytest.param({**FIRST, "score": "nan", "by": "ann"}, 400, "from 0 to 1", id="not a number"),
        pytest.param({**FIRST, "score": "2", "by": "ann"}, 400, "from 0 to 1", id="a score beyond 1"),
        pytest.param(
            {**FIRST, "withdraw": "1", "by": "ann"}, 400, "has no label to withdraw", id="nothing to take back"
        ),
        pytest.param({**FIRST, "metric": "none", "liked": "up", "by": "ann"}, 400, "no score", id="no such score"),
        pytest.param(
            {"run": RUN, "number": "999", "liked": "up", "by": "ann"}, 409, "does not have this result", id="no result"
        ),
        pytest.param({"run": "none", "number": "1", "liked": "up", "by": "ann"}, 409, "There is no run", id="no run"),
        pytest.param({"span": "ff", "liked": "up", "by": "ann"}, 409, "ff", id="no recorded answer"),
        pytest.param({"liked": "up", "by": "ann"}, 400, "names no output to label", id="about nothing"),
    ],
)
def test_what_cannot_be_kept_is_said_in_a_sentence(own, store, fields, status, said):
    answer = sent(own, fields)
    assert answer.status == status
    assert said in answer.text
    assert store.sessions.all_labels() == []


def test_where_the_store_may_only_be_read_labels_are_shown_and_none_is_given(store):
    keep(store, a_run(), [result(0)])
    sent(shown(store), {**FIRST, "liked": "up", "by": "ann"})
    with open_store(store.path, read_only=True) as only_read:
        viewer = shown(only_read)
        assert GOOD in from_browser(viewer, CASE).text
        assert '<form class="label' not in from_browser(viewer, CASE).text
        assert sent(viewer, {**FIRST, "liked": "down", "by": "ann"}).status == 409
    assert len(store.sessions.all_labels()) == 1


OTHER = {"run": RUN, "number": "4"}


def shown_cases(viewer, query):
    return re.findall(
        r'(?:<small><code>|<a class="name"[^>]*><bdi>)case-(\d+)',
        from_browser(viewer, f"/runs/{RUN}?sort=position&{query}").text,
    )


def test_cases_are_filtered_by_what_people_say_of_them(own):
    rest = [f"{number:03}" for number in range(30)]
    assert shown_cases(own, "label=none") == rest
    assert shown_cases(own, "label=up") == []
    said = [("1", "up", "ann"), ("2", "down", "ann"), ("4", "up", "ann"), ("4", "down", "bob")]
    said += [("5", "down", "bob"), ("6", "up", "ann"), ("6", "down", "bob"), ("6", "up", "cas")]
    for number, liked, by in said:
        sent(own, {"run": RUN, "number": number, "liked": liked, "by": by})
    sent(own, {"run": RUN, "number": "7", "comment": "no thumb", "by": "ann"})
    sent(own, {"run": RUN, "number": "8", "liked": "up", "by": "ann"})
    sent(own, {"run": RUN, "number": "8", "withdraw": "1", "by": "ann"})
    assert shown_cases(own, "label=up") == ["000", "005"]
    assert shown_cases(own, "label=down") == ["001", "004"]
    assert shown_cases(own, "label=disputed") == ["003"]
    assert shown_cases(own, "label=none") == [one for one in rest if one not in ("000", "001", "003", "004", "005")]
    assert shown_cases(own, "label=down&verdict=pass") == ["001", "004"]
    assert shown_cases(own, "label=nonsense") == rest


def test_what_i_have_not_labelled_depends_on_who_i_am(own):
    answer = sent(own, {**FIRST, "liked": "up", "by": "ann"})
    sent(own, {**OTHER, "liked": "up", "by": "bob"})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    headers = [("host", "127.0.0.1:7878"), ("cookie", f"evalmark-7878=a-token-of-this-test; {cookie}")]
    text = asked(own, f"/runs/{RUN}?label=not-mine&sort=position", headers=headers).text
    assert re.findall(r"<small><code>case-(\d+)", text)[:4] == ["001", "002", "003", "004"]
    assert '<option value="not-mine" selected>not by me</option>' in text


def test_from_case_to_case_none_is_left_out_though_labelled_ones_leave_the_list(own):
    def neighbours(number):
        text = from_browser(own, f"/runs/{RUN}/results/{number}?label=none").text
        return re.findall(r'rel="(prev|next)" href="[^"]*/results/(\d+)\?label=none"', text)

    assert neighbours(1) == [("next", "2")]
    sent(own, {**FIRST, "liked": "up", "by": "ann"})
    assert neighbours(1) == [("next", "2")]
    assert neighbours(2) == [("next", "3")]
    sent(own, {"run": RUN, "number": "2", "liked": "up", "by": "ann"})
    assert neighbours(3) == [("next", "4")]
    assert neighbours(4) == [("prev", "3"), ("next", "5")]


@pytest.mark.parametrize("script", [False, True], ids=["a browser without a script", "a script"])
def test_a_button_of_the_form_of_all_rows_labels_its_row(own, store, script):
    text = from_browser(own, PAGE).text
    inputs = re.search(r'<form id="row-labels".*?</form>', text, re.DOTALL)[0]
    fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', inputs)}
    button = re.search(r'<tr id="row-2".*?form="row-labels" value="(up 2)" aria-pressed="false"', text, re.DOTALL)[1]
    fields |= {"liked": button, "by": "ann"}
    answer = sent(own, fields, **({"x_evalmark_part": "1"} if script else {}))
    assert [(label.by, label.liked) for label in store.sessions.all_labels()] == [("ann", True)]
    if script:
        assert 'form="row-labels" value="up 2" aria-pressed="true"' in answer.text
    else:
        assert (answer.status, answer.headers["location"]) == (303, f"{PAGE}#row-2")


@pytest.mark.parametrize(
    ("earlier", "comments"),
    [
        pytest.param({"liked": "down"}, ["Too short."], id="the same thumb keeps what was said with it"),
        pytest.param({}, ["Too short."], id="a first thumb keeps what was said without one"),
        pytest.param({"liked": "up"}, [""], id="another thumb has no reason yet"),
    ],
)
def test_a_thumb_in_a_list_loses_no_comment(own, store, earlier, comments):
    sent(own, {**FIRST, **earlier, "comment": "Too short.", "score": "0.25", "by": "ann"})
    sent(own, {"run": RUN, "liked": "down 1", "by": "ann", "brief": "1", "back": PAGE})
    current = current_labels(store.sessions.all_labels())
    assert [label.comment for label in current if label.liked is False] == comments
    assert [label.score for label in current if label.liked is False] == [0.25 if comments[0] else None]


@pytest.mark.parametrize("liked", ["up x", "up 99999999999999999999", "up -1", "maybe 1", "up 1 x", "up 1 1 1"])
def test_a_button_that_names_no_row_labels_nothing(own, store, liked):
    fields = {"run": FIRST["run"], "liked": liked, "by": "ann", "brief": "1", "back": PAGE}
    assert 400 <= sent(own, fields).status < 500
    assert store.sessions.all_labels() == []
