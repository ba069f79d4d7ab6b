"""The queue in which people label blindly, and the agreement in the end."""

import asyncio
import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from evalmark import Score, Turn
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.run import Metric
from evalmark.core.values.session import Session, Span
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer.urls.label_queue_query import parse_label_queue_query
from evalmark.runs.execution.threshold_notes import evidence_of_run
from evalmark.scoring.judges.delimiters import untrusted_text
from evalmark.scoring.judges.question import QuestionTemplate
from evalmark.scoring.judges.template import common_prompt
from evalmark.store import open_store
from evalmark.tracing.annotations.labels import result_subject
from evalmark.tracing.annotations.samples import chosen_numbers

from .conftest import POLICY, TOKEN, a_run, asked, from_browser, keep, result, sent, shown
from .test_pages import checked

RUN = "20261121-101500-3f9a"
QUEUE = f"/label/queue?what=run%3A{RUN}"


class Rater:
    """A person with a browser of their own."""

    def __init__(self, viewer, by):
        self.viewer, self.by = viewer, by
        begun = sent(viewer, {"what": f"run:{RUN}", "n": "6", "by": by}, "/label/start")
        assert (begun.status, begun.headers["location"]) == (303, f"{QUEUE}&n=6")
        self.cookie = f"{POLICY.cookie}={TOKEN}; " + begun.headers["set-cookie"].partition(";")[0]

    def looks(self, address=f"{QUEUE}&n=6"):
        answer = asked(self.viewer, address, headers=[("host", "127.0.0.1:7878"), ("cookie", self.cookie)])
        assert answer.status == 200
        return checked(answer.text)

    def form(self, page, name="judging"):
        """The fields of a form of a page, as a browser would send them."""
        form = re.search(rf'<form class="label {name}".*?</form>', page, re.DOTALL)[0]
        fields = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form))
        return {field: value.replace("&amp;", "&") for field, value in fields.items()}

    def says(self, page, liked, **more):
        """Press a button of the page, and look at what comes then."""
        answer = sent(self.viewer, {**self.form(page), "liked": liked, **more}, cookie=self.cookie)
        assert answer.status == 303
        return self.looks(answer.headers["location"])

    def says_all(self, words):
        page = self.looks()
        for word in words:
            page = self.says(page, {"+": "up", "-": "down"}[word])
        return page


def question(page):
    return re.search(r'<h2 id="asked">Input</h2>\s*<div class="text" dir="auto">(.*?)</div>', page)[1]


def heading(page):
    return re.search(r"<h1>(.*?)</h1>", page)[1]


@pytest.fixture
def ann(own):
    return Rater(own, "ann")


def test_one_output_after_the_other_is_labelled(ann, store):
    page = ann.looks()
    seen = []
    for place in range(1, 7):
        assert heading(page) == f"Output {place} of 6"
        assert f"{place - 1} of 6 labelled by" in page
        seen.append(question(page))
        page = ann.says(page, "up", comment="so so" if place == 1 else "")
    assert heading(page) == "All 6 labelled"
    assert len(set(seen)) == 6
    labels = store.sessions.all_labels()
    assert {(label.by, label.liked) for label in labels} == {("ann", True)}
    assert [label.comment for label in labels] == ["so so", *[""] * 5]
    subjects = {result_subject(RUN, result(number)).about for number in range(30)}
    assert {label.about for label in labels} <= subjects


def test_everybody_gets_the_same_outputs_in_the_same_order_and_those_that_broke_are_left_out(own):
    ann, bob = Rater(own, "ann"), Rater(own, "bob")
    first = [question(ann.looks(f"{QUEUE}&n=6&at={place}")) for place in range(1, 7)]
    ann.says_all("++++++")
    assert [question(bob.looks(f"{QUEUE}&n=6&at={place}")) for place in range(1, 7)] == first
    assert heading(bob.looks(QUEUE)) == "Output 1 of 27"
    assert question(bob.looks(QUEUE)) == first[0]
    assert [question(bob.looks(f"{QUEUE}&n=6&at={place}&seed=2")) for place in range(1, 7)] != first


def test_a_random_queue_of_a_run_is_recorded_as_a_sample_and_a_filtered_one_is_not(own, store):
    Rater(own, "ann")
    Rater(own, "bob")
    (sample,) = store.sessions.label_samples(RUN).values()
    assert (len(sample.trials), sample.outputs, sample.by_verdict) == (6, 27, "")
    sent(own, {"what": f"run:{RUN}", "n": "5", "by": "ann", "verdict": "fail"}, "/label/start")
    sent(own, {"what": f"run:{RUN}", "by": "ann"}, "/label/start")
    assert len(store.sessions.label_samples(RUN)) == 1


def test_a_queue_says_whether_it_is_recorded_as_a_random_sample(ann):
    assert "6 of 27 outputs, drawn at random. Recorded as a random sample." in ann.looks()
    assert "4 of 27 outputs, drawn at random. Recorded" in ann.looks(f"{QUEUE}&n=4"), "the larger one begins with it"
    for address in (f"{QUEUE}&n=7", f"{QUEUE}&n=6&seed=2"):  # typed, or shared by another person
        assert "drawn at random. Not recorded as a random sample of the run" in ann.looks(address)
    assert "with the verdict failed, in random order. A part of the run" in ann.looks(f"{QUEUE}&verdict=fail")


def test_a_queue_by_verdict_shows_its_sample(ann, store):
    fields = {"what": f"run:{RUN}", "n": "8", "by": "ann", "by_verdict": "similarity"}
    begun = sent(ann.viewer, fields, "/label/start")
    ((number, sample),) = ((n, one) for n, one in store.sessions.label_samples(RUN).items() if one.by_verdict)
    assert (begun.status, begun.headers["location"]) == (303, f"{QUEUE}&sample={number}")
    page = ann.looks(begun.headers["location"])
    assert heading(page) == "Output 1 of 8"
    assert heading(ann.says(page, "up")) == "Output 2 of 8"
    assert f"output:{RUN}/{sample.trials[0]}" in {label.about for label in store.sessions.all_labels()}
    wrong = sent(ann.viewer, {**fields, "by_verdict": "similarty"}, "/label/start")
    assert wrong.status == 400
    assert "did you mean" in wrong.text
    both = sent(ann.viewer, {**fields, "tag": "x"}, "/label/start")
    assert (both.status, "leave the filters out" in both.text) == (400, True)
    answer = asked(ann.viewer, f"{QUEUE}&sample=99", headers=[("host", "127.0.0.1:7878"), ("cookie", ann.cookie)])
    assert answer.status == 404


JUDGES = tuple(Metric(name=f"kind [{judge}]", judge=judge, base="kind", threshold=0.5) for judge in ("a", "b"))


def judged(number, first, second):
    """A result that two judges have scored."""
    values = zip(JUDGES, (first, second), strict=True)
    return replace(result(number), scores=tuple(Score(name=m.name, value=v, passed=v >= 0.5) for m, v in values))


@pytest.fixture
def two_judges(store):
    """A run of six outputs: on 3 the judges differ most, on 4 a little, and 1 is at the threshold of the first judge."""
    rows = [(0, 0.9, 0.9), (1, 0.49, 0.49), (2, 0.1, 0.1), (3, 0.0, 1.0), (4, 0.7, 0.9), (5, 0.4, 0.4)]
    keep(store, a_run(metrics=JUDGES), [judged(*row) for row in rows])
    return shown(store)


@pytest.mark.parametrize(
    ("fields", "numbers", "facts"),
    [
        pytest.param(
            {"way": "near", "near_by": "kind [a]", "n": "3"},
            [1, 5, 4],
            "closest to its threshold",
            id="at the threshold",
        ),
        pytest.param({"way": "judges", "judges_by": "kind", "n": "40"}, [3, 4], "differ most", id="judges differ"),
    ],
)
def test_chosen_outputs_come_in_their_order_and_are_never_recorded_as_a_sample(
    two_judges, store, fields, numbers, facts
):
    begun = sent(two_judges, {"what": f"run:{RUN}", "by": "ann", **fields}, "/label/start")
    assert begun.status == 303
    cookie = f"{POLICY.cookie}={TOKEN}; " + begun.headers["set-cookie"].partition(";")[0]
    address = begun.headers["location"]
    for place, number in enumerate(numbers, start=1):
        answer = asked(two_judges, f"{address}&at={place}", headers=[("host", "127.0.0.1:7878"), ("cookie", cookie)])
        text = checked(answer.text)
        assert question(text) == f"What is {number} times {number}?"
        assert heading(text) == f"Output {place} of {len(numbers)}"
        assert facts in text
        assert "Chosen, not random" in text
        assert sent(two_judges, {"run": RUN, "number": str(number + 1), "by": "ann", "liked": "up"}).status == 303
    assert store.sessions.label_samples(RUN) == {}
    assert evidence_of_run(store, store.run(RUN)).samples == ()


def test_a_metric_with_thresholds_of_its_own_has_outputs_close_to_the_one_that_decides_on_them(store):
    def near(number, value, label):
        detail = {"closest": {"label": label}}
        return replace(result(number), scores=(Score(name="similarity", value=value, passed=True, detail=detail),))

    metric = Metric(name="similarity", own_thresholds={"positive": 0.9, "negative": 0.1})
    rows = [(0, 0.12, "liked"), (1, 0.86, "liked"), (2, 0.12, "disliked"), (3, 0.89, "disliked"), (4, 0.91, "liked")]
    run = keep(store, a_run(metrics=(metric,)), [near(*row) for row in rows])
    assert chosen_numbers(run, store.browse(RUN), "near", "similarity", 3) == [5, 3, 2]
    text = from_browser(shown(store), f"/label?what=run:{RUN}").text
    assert '<select name="near_by" aria-label="Closest to the threshold of"><option value="similarity"' in text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"way": "near", "near_by": "kind"}, "kind has no threshold", id="no such metric"),
        pytest.param({"way": "judges", "judges_by": "kind [a]"}, "no second judge", id="one judge"),
        pytest.param({"way": "judges"}, "the metric has no second judge", id="no metric"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_the_reason(two_judges, fields, said):
    answer = sent(two_judges, {"what": f"run:{RUN}", "by": "ann", **fields}, "/label/start")
    assert (answer.status, said in answer.text) == (400, True)


def test_outputs_of_a_running_run_are_not_chosen_since_they_change(store):
    keep(store, a_run(metrics=JUDGES), [judged(0, 0.1, 0.9)], ends=False)
    form = {"what": f"run:{RUN}", "by": "ann", "way": "judges", "judges_by": "kind"}
    answer = sent(shown(store), form, "/label/start")
    assert (answer.status, "goes on" in answer.text) == (400, True)


def test_an_earlier_score_of_a_resumed_result_does_not_count(two_judges, store):
    run = store.resume(RUN)
    again = [judged(3, 0.9, 0.9), judged(4, 0.7, 0.9), judged(5, 0.2, 0.3)]  # on 3 the judges agree now
    asyncio.run(store.sink(RUN).write(again))
    store.finish(replace(run, status="complete"))
    run = store.run(RUN)
    assert chosen_numbers(run, store.browse(RUN), "judges", "kind", 40) == [5, 6]


def test_a_run_is_offered_that_has_something_to_label(own, store):
    newer = a_run("20261122-101500-0000", name="broken", created="2026-11-22T10:15:00+00:00")
    keep(store, newer, [result(9)])  # an error
    page = checked(from_browser(own, "/label").text)
    assert f'<option value="run:{RUN}" selected>' in page
    assert "27 outputs, 0 of them labelled by you" in page
    assert "every trial ended in an error" in checked(from_browser(own, f"/label?what=run:{newer.id}").text)
    ann = Rater(own, "ann")
    ann.says_all("++")
    page = ann.looks("/label")
    assert "27 outputs, 2 of them labelled by you" in page
    assert re.search(r'sample=1">Sample 1</a> 6 of 27 outputs, drawn at random, [^<]* · <b>2 labelled by you', page)


def test_the_last_label_of_a_finished_queue_is_undone_too(ann):
    page = ann.says_all("+++++-")
    assert "bad, of output 6" in page
    answer = sent(ann.viewer, ann.form(page, "undo") | {"by": "ann", "withdraw": "1"}, cookie=ann.cookie)
    assert heading(ann.looks(answer.headers["location"])) == "Output 6 of 6"


def test_nothing_is_seen_of_what_a_machine_or_another_person_says(own, store):
    ann, bob = Rater(own, "ann"), Rater(own, "bob")
    page = ann.looks()
    ann.says(page, "down", comment="Ann dislikes this.")
    for text in (page, bob.looks(), bob.looks(f"{QUEUE}&n=6&at=1")):
        text = re.sub(r"<template.*?</template>", "", text, flags=re.DOTALL)
        for word in ("similarity", "correct", "passed", "failed", "Ann dislikes", "openai", "app:answer", "case-0"):
            assert word not in text
        assert 'aria-pressed="true"' not in text
        assert "Hello." in text
        assert "A table of squares." in text
        assert "Agreement is shown once you have labelled all 6" in text
    assert 'aria-pressed="true"' in ann.looks(f"{QUEUE}&n=6&at=1")


def test_the_expected_output_is_folded_and_the_thumbs_come_before_the_comment(ann):
    page = ann.looks()
    number = int(re.search(r"What is (\d+) times", page)[1])
    folded = re.search(r"<details[^>]*><summary>Show the expected output</summary>(.*?)</details>", page, re.DOTALL)[1]
    assert re.sub("<[^>]*>", "", folded).strip() == str(number * number)
    assert page.index(">Good<") < page.index(">Skip<") < page.index("Comment (optional)")


def test_what_is_skipped_comes_back_at_the_end(ann):
    page = ann.looks()
    skipped = question(page)
    onward = re.search(r'href="([^"]*)" data-key="s"', page)[1].replace("&amp;", "&")
    page = ann.looks(onward)
    assert heading(page) == "Output 2 of 6"
    for _ in range(5):
        assert question(page) != skipped
        page = ann.says(page, "up")
    assert (heading(page), question(page)) == ("Output 1 of 6", skipped)


def test_the_last_label_is_undone_and_its_output_comes_back(ann, store):
    assert "Undo" not in ann.looks()
    page = ann.says(ann.says(ann.looks(), "up"), "down")
    assert heading(page) == "Output 3 of 6"
    undo = re.findall(r'<form class="label undo".*?</form>', page, re.DOTALL)[-1]
    fields = {n: v.replace("&amp;", "&") for n, v in re.findall(r'name="([^"]*)" value="([^"]*)"', undo)}
    answer = sent(ann.viewer, fields, cookie=ann.cookie)
    page = ann.looks(answer.headers["location"])
    assert heading(page) == "Output 2 of 6"
    assert "1 of 6 labelled by" in page
    assert store.sessions.all_labels()[-1].withdrawn


def test_a_comment_alone_leaves_the_output_to_be_labelled(ann, store):
    page = ann.looks()
    answer = sent(ann.viewer, {**ann.form(page), "comment": "hm"}, cookie=ann.cookie)
    assert answer.status == 303
    assert heading(ann.looks()) == "Output 1 of 6"
    assert 'value="hm"' in ann.looks()


def test_agreement_is_shown_to_whoever_is_done(own):
    ann, bob = Rater(own, "ann"), Rater(own, "bob")
    page = ann.says_all("+++---")
    assert "Nobody else has labelled any of these outputs yet" in page
    page = bob.says_all("++-")
    assert heading(page) == "Output 4 of 6"
    assert "kappa" not in page
    page = ann.looks()
    assert "3 outputs of 6" in page
    assert f'<a href="/runs/{RUN}">' in page
    assert "no interval: fewer than 10 cases" in page
    page = bob.says_all("--+")
    assert f"<dt>the same label</dt><dd>4 of 6 outputs, 66.7 % (30.0 {DASH} 90.3 %)</dd>" in page
    assert re.findall(r'<td class="num">(?:<b>)?(\d+)', page) == ["2", "1", "1", "2"]
    assert "<dt>kappa, Cohen</dt><dd>0.33 (no interval: fewer than 10 cases)</dd>" in page
    disputed = re.findall(r'<a href="([^"]*)">Output (\d)</a>', page)
    assert [place for _, place in disputed] == ["3", "6"]
    settle = bob.looks(disputed[0][0].replace("&amp;", "&"))
    assert "<bdi>ann</bdi>: good, <bdi>bob</bdi>: bad" in settle
    assert f'href="/runs/{RUN}/results/' in settle
    page = bob.says(settle, "up")
    assert [place for _, place in re.findall(r'<a href="([^"]*)">Output (\d)</a>', page)] == ["6"]


def test_at_the_end_the_page_names_the_commands_that_use_the_labels(ann):
    recorded = ann.says_all("++++++")
    chosen = ann.looks(f"/label/queue?what=run%3A{RUN}&verdict=fail&tag=odd")
    while heading(chosen).startswith("Output"):
        chosen = ann.says(chosen, "up")
    for shown_page, flag in ((recorded, ""), (chosen, " --all-labels")):
        assert heading(shown_page).startswith("All ")
        assert re.findall(r"<dt><code>(.*?)</code></dt>", shown_page) == [
            f"evalmark audit {RUN}{flag}",
            f"evalmark calibrate {RUN}",
        ]


def test_people_who_both_always_say_the_same_cannot_be_told_from_luck(own):
    Rater(own, "ann").says_all("++++++")
    page = Rater(own, "bob").says_all("++++++")
    assert "<dt>kappa, Cohen</dt><dd>undefined: both always give the same label</dd>" in page
    assert "<dt>alpha, Krippendorff</dt><dd>undefined: all always give the same label</dd>" in page
    assert "<p>None.</p>" in page


def test_outputs_are_chosen_by_how_they_ended_and_by_tag(ann):
    asked_for = f"/label/queue?what=run%3A{RUN}&verdict=fail&tag=odd"
    page = ann.looks(asked_for)
    assert heading(page) == "Output 1 of 4"
    numbers = {int(re.search(r"is (\d+) times", question(ann.looks(f"{asked_for}&at={n}")))[1]) for n in range(1, 5)}
    assert numbers == {3, 15, 21, 27}
    assert heading(ann.looks(f"{asked_for}&tag=nothing")) == "Nothing to label"


def test_recorded_answers_are_labelled_in_the_same_way(own, store, ann):
    session = Session(id="5" * 16, project="demo", started="2026-11-22T00:00:00+00:00")
    spans = [
        Span(id=f"{n:016x}", session=session.id, project="demo", started=session.started, input=f"Q{n}?", output="yes")
        for n in range(3)
    ]
    store.sessions.add([session], [*spans, replace(spans[0], id="f" * 16, error="E: x", output=None)])
    page = ann.looks("/label/queue?what=project%3Ademo")
    for place in range(1, 4):
        assert heading(page) == f"Output {place} of 3"
        page = ann.says(page, "down" if place == 2 else "up")
    assert heading(page) == "All 3 labelled"
    assert '<a href="/sessions?project=demo">' in page
    assert "<code>evalmark export sessions:demo -o cases.jsonl</code>" in page
    found = store.sessions.labelled_answers("demo")
    assert (len(found.labelled), sum(one.liked for one in found.labelled)) == (3, 2)


def test_one_chooses_from_runs_and_projects(own, store):
    page = checked(from_browser(own, "/label").text)
    assert re.search(rf'<option value="run:{RUN}" selected>squares, ', page)
    assert 'name="n"' in page
    chosen = checked(from_browser(own, f"/label?what=run:{RUN}&verdict=fail&tag=odd&n=7&seed=x").text)
    assert f'<option value="run:{RUN}" selected>' in chosen
    assert '<option value="fail" selected>' in chosen
    for name, value in (("tag", "odd"), ("n", "7"), ("seed", "x")):
        assert re.search(rf'name="{name}"[^>]* value="{value}"', chosen)


def test_whoever_is_not_known_says_first_who_it_is(own):
    page = from_browser(own, f"{QUEUE}&n=6").text
    assert "Your name" in page
    assert f'<option value="run:{RUN}" selected>' in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"what": f"run:{RUN}", "by": " "}, "who you are", id="nobody"),
        pytest.param({"what": "", "by": "ann"}, "what you want to label", id="nothing"),
        pytest.param({"what": "else:x", "by": "ann"}, "what you want to label", id="something else"),
    ],
)
def test_a_form_that_does_not_say_enough_is_not_taken(own, fields, said):
    answer = sent(own, fields, "/label/start")
    assert answer.status == 400
    assert said in answer.text


def test_a_run_that_is_not_there_is_said(ann):
    answer = asked(
        ann.viewer, "/label/queue?what=run%3Anone", headers=[("host", "127.0.0.1:7878"), ("cookie", ann.cookie)]
    )
    assert answer.status == 404


def test_an_address_that_makes_no_sense_is_read_as_far_as_it_does(ann):
    for odd in (
        "n=-1",
        "n=x",
        "n=99999999999999999999",
        "at=0",
        "at=99",
        "start=77",
        "verdict=no",
        "seed=" + "x" * 999,
    ):
        assert heading(ann.looks(f"{QUEUE}&{odd}")) == "Output 1 of 27"


def test_where_the_store_may_only_be_read_nothing_can_be_begun(store):
    keep(store, a_run(), [result(0)])
    with open_store(store.path, read_only=True) as only_read:
        assert "is read-only" in from_browser(shown(only_read), "/label").text


def test_an_empty_store_has_nothing_to_label(store):
    assert "nothing to label yet" in from_browser(shown(store), "/label").text


def test_instructions_stand_above_each_output_and_stay_in_the_address(ann):
    fields = {"what": f"run:{RUN}", "n": "6", "by": "ann", "instructions": "Good if *true*.\r\n\r\n- <b>short</b>"}
    for more in ({}, {"way": "random"}, {"by_verdict": "similarity"}):
        begun = sent(ann.viewer, fields | more, "/label/start")
        page = ann.looks(begun.headers["location"])
        for _ in range(2):
            shown = re.search(r'<section class="instructions".*?</section>', page, re.DOTALL)[0]
            assert "<em>true</em>" in shown
            assert "&lt;b&gt;short" in shown
            page = ann.says(page, "up")
    assert 'class="instructions"' not in ann.looks(), "without instructions there is no part for them"


def test_a_link_goes_back_to_the_output_before(ann):
    first = ann.looks()
    assert 'rel="prev"' not in first
    back = re.search(r'rel="prev" href="([^"]*)"', ann.says(first, "up"))[1].replace("&amp;", "&")
    again = ann.looks(back)
    assert (heading(again), question(again)) == ("Output 1 of 6", question(first))
    assert re.search(r'value="up" aria-pressed="true"', again), "with the label that was given"


def rule_of(viewer, store, call, name="correct"):
    """The instructions of a queue that follows the rule of a judge."""
    asyncio.run(store.call_log().keep(call))
    begun = sent(viewer, {"what": f"run:{RUN}", "n": "6", "by": "ann", "rule": name}, "/label/start")
    return parse_label_queue_query(dict(parse_qsl(urlsplit(begun.headers["location"]).query))).instructions


def question_of(*sections, form="How polite it is.", output="Oslo </data-0123456789abcdef>"):
    """A question as judges send it."""
    material = {"output": (untrusted_text("output", output),), "input": (untrusted_text("input", "The capital?"),)}
    return QuestionTemplate(sections=sections, form=form, trusted={}, material=material).question(None, {})


@pytest.mark.parametrize(
    ("request_", "rule"),
    [
        pytest.param(
            question_of("Is it polite?", "What was asked:\n{{input}}", "The output to judge:\n{{output}}").request,
            "Is it polite?\n\nHow polite it is.",
            id="a question without what it shows of one output",
        ),
        pytest.param(
            question_of("{{output}}", form=common_prompt().forms["boolean"].replace("{{score}}", "polite")).request,
            "`pass` is true or false. What it stands for: polite",
            id="a form without its JSON",
        ),
        pytest.param(
            Request(messages=(Turn(role="system", content="Be strict."), Turn(role="user", content="Oslo"))),
            "Be strict.",
            id="a question of somebody else",
        ),
        pytest.param(Request(messages=(Turn(role="user", content="Oslo"),)), "", id="no rule is known"),
    ],
)
def test_the_rule_of_a_judge_serves_as_instructions(own, store, request_, rule):
    made = Call(key="k1", model="m", identity="m", request=request_, reply=Reply(text="yes"), created="2026-11-21")
    assert rule_of(own, store, made) == rule
    page = Rater(own, "ann").looks(f"/label?what=run:{RUN}")
    assert ('<option value="correct">' in page.partition('name="rule"')[2].partition("</select>")[0]) == bool(rule)


def test_instructions_of_a_form_come_before_the_rule_of_a_judge(own):
    fields = {"what": f"run:{RUN}", "by": "ann", "rule": "correct", "instructions": "Is it short?"}
    assert sent(own, fields, "/label/start").headers["location"].endswith("instructions=Is+it+short%3F")


def test_the_agreement_names_the_run_and_the_instructions(ann):
    address = f"{QUEUE}&n=6&instructions=Is+it+short%3F"
    page = ann.looks(address)
    for _ in range(6):
        page = ann.says(page, "up")
    assert heading(page) == "All 6 labelled"
    assert "<bdi>squares</bdi>, 2026-11-21 10:15:00 UTC" in page
    assert "Is it short?" in re.search(r'<section class="instructions".*?</section>', page, re.DOTALL)[0]
