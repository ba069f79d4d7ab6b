"""Sessions, spans and labels survive in a real store."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalmark.core.values.case import Usage
from evalmark.core.values.label import Label, LabelSample, content_fingerprint
from evalmark.core.values.session import Session, Span
from evalmark.errors import StoreError
from tests.storage.store.places import in_a_file

EVERYWHERE = True
SESSION = Session(id="5" * 16, project="demo", started="2026-11-22T00:00:00.000000+00:00", metadata={"user": "u1"})
ANSWER = Span(
    id="a" * 16,
    session=SESSION.id,
    project="demo",
    name="chain",
    started="2026-11-22T00:00:01.000000+00:00",
    seconds=0.5,
    input={"question": "Oslo?"},
    output="yes",
    contexts=("Oslo is in Norway.",),
    usage=Usage(input_tokens=3, output_tokens=1),
    metadata={"k": [1, None]},
)
STEP = replace(ANSWER, id="b" * 16, parent=ANSWER.id, kind="model", model="openai/x", template="greeting", cost=0.25)


def label(**fields):
    known = {"about": f"span:{ANSWER.id}", "by": "ann", "created": "2026-11-22T02:00:00.000000+00:00", "content": "c"}
    return Label(**(known | fields))


@pytest.fixture
def traffic(store):
    store.sessions.add([SESSION], [STEP, ANSWER])
    return store.sessions


def test_a_session_comes_back_with_its_spans_in_the_order_of_their_start(traffic):
    assert traffic.session("5555") == replace(SESSION, spans=(STEP, ANSWER)) == traffic.session("last")
    assert traffic.session("last").answers == (ANSWER,)
    assert traffic.span("aa") == ANSWER


def test_answers_and_filled_prompts_are_found(traffic):
    assert (traffic.answers("demo"), traffic.answers("other")) == ([ANSWER], [])
    assert traffic.template_spans("greeting") == [STEP]
    assert traffic.projects() == ["demo"]


def test_a_span_that_is_kept_twice_is_there_once(traffic):
    traffic.add([replace(SESSION, dropped=2)], [ANSWER])
    assert [(r.spans, r.answers, r.session.dropped) for r in traffic.summaries()] == [(2, 1, 2)]


def test_sessions_are_listed_newest_first_with_what_is_in_them(traffic):
    later = replace(SESSION, id="6" * 16, project="other")
    traffic.add([later], [replace(ANSWER, id="c" * 16, session=later.id, project="other", error="E: x", output=None)])
    traffic.add_labels([label(liked=True)])
    assert [(r.session.project, r.answers, r.failed, r.labels) for r in traffic.summaries()] == [
        ("other", 1, 1, 0),
        ("demo", 1, 0, 1),
    ]
    assert len(traffic.summaries("demo")) == 1 == len(traffic.summaries(limit=1))


@pytest.mark.parametrize("reference", ["", "x", "9" * 16])
def test_an_unknown_session_is_refused_with_the_next_step(traffic, reference):
    with pytest.raises(StoreError, match=r"there is no recorded session .* evalmark list sessions"):
        traffic.session(reference)


def test_an_ambiguous_start_of_an_id_is_refused(traffic):
    traffic.add([replace(SESSION, id="55" + "0" * 14)], [])
    with pytest.raises(StoreError, match="several ids"):
        traffic.session("55")


def test_labels_are_history(traffic):
    words = [label(liked=True), label(liked=False, by="bob", comment="no ☹"), label(liked=False, score=0.25)]
    for word in words:
        traffic.add_labels([word])
    assert traffic.labels([f"span:{ANSWER.id}"]) == words == traffic.all_labels()
    assert traffic.labels(["span:other"]) == []


def test_a_label_is_found_by_what_it_was_said_of(traffic):
    mine = label(about="output:r/1", content=content_fingerprint("Oslo?", "yes"), liked=True)
    traffic.add_labels([mine, label(content=content_fingerprint("Oslo?", "no"), liked=False)])
    assert traffic.labels_by_content([content_fingerprint("Oslo?", "yes")]) == [mine]


def test_what_is_said_of_the_outputs_of_one_run_is_found(traffic):
    places = [
        "output:r/1",
        "output:r/2",
        "output:r2/1",
        "output:r",
        "score:r/1/m",
        "span:r",
        "output:r0/1",
        "output:q/1",
    ]
    assert traffic.last_label_number() == 0
    traffic.add_labels([label(about=place, liked=True) for place in places])
    traffic.add_labels([label(about="output:r/1", liked=False), label(about="output:\ud800/1")])
    assert [(one.about, one.liked) for one in traffic.labels_of_run("r")] == [
        ("output:r/1", True),
        ("output:r/2", True),
        ("output:r/1", False),
    ]
    assert [one.about for one in traffic.labels_of_run("\ud800")] == ["output:\ud800/1"]
    assert traffic.last_label_number() == 10


def test_samples_of_a_run_come_back_by_their_numbers_and_an_equal_one_is_stored_once(traffic):
    sample = LabelSample(run="r", trials=("a" * 12, "b" * 12), outputs=9, created="2026-11-22T02:00:00+00:00")
    first = traffic.add_label_sample(sample)
    assert traffic.add_label_sample(replace(sample, created="2026-11-23T02:00:00+00:00")) == first
    second = traffic.add_label_sample(replace(sample, by_verdict="m"))
    traffic.add_label_sample(replace(sample, run="other"))
    assert traffic.label_samples("r") == {first: sample, second: replace(sample, by_verdict="m")}
    assert traffic.label_samples("nobody") == {}


def test_answers_that_broke_are_no_answers_to_be_labelled(traffic):
    failed = replace(ANSWER, id="c" * 16, error="E: x", output=None)
    traffic.add([SESSION], [failed, replace(ANSWER, id="0" * 16), replace(ANSWER, id="d" * 16, project="other")])
    assert traffic.answers_without_error("demo") == [ANSWER.id, "0" * 16]


def test_more_labels_than_one_query_can_ask_for(traffic):
    many = [label(about=f"span:{n}", liked=True) for n in range(1201)]
    traffic.add_labels(many)
    assert traffic.labels(f"span:{n}" for n in range(1201)) == many


def test_labelled_answers_become_cases(traffic):
    traffic.add_labels([label(liked=True)])
    found = traffic.labelled_answers("demo")
    assert (found.cases[0].input, found.cases[0].contexts) == ({"question": "Oslo?"}, ("Oslo is in Norway.",))
    assert traffic.labelled_template_outputs("greeting").unlabelled == 1
    assert traffic.labelled_answers("other").cases == ()


def test_what_goes_by_the_name_of_a_secret_is_not_on_the_disk(store, traffic):
    traffic.add([SESSION], [replace(ANSWER, id="d" * 16, input={"headers": {"Authorization": "Bearer s3cr3t"}})])
    store.close()
    assert b"s3cr3t" not in b"".join(path.read_bytes() for path in store.path.parent.iterdir())


@pytest.mark.parametrize("table", ["span", "label"])
@in_a_file
def test_damage_is_noticed(store, traffic, table):
    traffic.add_labels([label(liked=True)])
    with closing(apsw.Connection(str(store.path))) as db:
        db.execute(f"update {table} set content = replace(content, 'a', 'b')")  # noqa: S608  a name of ours
    with pytest.raises(StoreError, match=f"a recorded {table} is damaged .* evalmark doctor"):
        traffic.labelled_answers("demo")


def test_several_threads_may_record_and_label(traffic):
    def act(number):
        traffic.add([SESSION], [replace(ANSWER, id=f"{number:016x}")])
        traffic.add_labels([label(about=f"span:{number:016x}", liked=True)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(40)))
    assert len(traffic.answers("demo")) == 41
    assert len(traffic.labelled_answers("demo").labelled) == 40


@in_a_file
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    project=st.text(min_size=1),
)
def test_any_input_and_any_name_come_back(traffic, given, project):
    number = len(traffic.summaries())
    session = replace(SESSION, id=f"{number:016x}", project=project)
    mine = replace(ANSWER, id=f"{number:016x}", session=session.id, project=project, input=given, metadata={})
    traffic.add([session], [mine])
    assert traffic.span(mine.id).input == given
    assert mine.id in [span.id for span in traffic.answers(project)]


def test_a_session_that_goes_on_began_when_it_began_and_adds_up_what_was_dropped(traffic):
    later = replace(SESSION, started="2026-11-22T05:00:00.000000+00:00", metadata={"plan": "pro"}, dropped=2)
    traffic.add([later], [])
    traffic.add([replace(later, dropped=3)], [])
    assert traffic.session("last") == replace(
        SESSION, metadata={"user": "u1", "plan": "pro"}, dropped=5, spans=(STEP, ANSWER)
    )


def test_ids_are_found_by_their_start_and_spans_by_many_ids(traffic):
    assert traffic.with_prefix("5555") == [("session", SESSION.id)]
    assert traffic.with_prefix("a") == [("span", ANSWER.id)]
    assert (
        traffic.with_prefix("")
        == traffic.with_prefix("zz")
        == traffic.with_prefix("last")
        == traffic.with_prefix("9")
        == []
    )
    assert traffic.spans([ANSWER.id, STEP.id, "9" * 16]) == [STEP, ANSWER]
