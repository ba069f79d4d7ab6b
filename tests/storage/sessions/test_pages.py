"""Which sessions are found, what is counted of them, and how answers and steps belong together."""

import re
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalmark.core.values.case import Usage
from evalmark.core.values.label import Label, current_labels, majority_vote
from evalmark.core.values.session import Session, Span
from evalmark.storage.database.fields import like_pattern, like_pattern_in_json
from evalmark.storage.sessions.filter import LABEL_STATES, SessionFilter
from evalmark.storage.sessions.pages import _beginning
from evalmark.storage.sessions.trees import by_answer, in_order, share_of_time, total_spending
from evalmark.store import open_store

EVERYWHERE = True
BEGAN = "2026-11-22T09:00:00.000000+00:00"
HEADER = Session(id="1" * 16, project="shop", started=BEGAN)
SPAN = Span(id="a", session=HEADER.id, project="shop", started=BEGAN, input="Open?", output="Yes.")


@pytest.fixture
def traffic(store):
    return store.sessions


def step(identity, parent, **fields):
    return replace(SPAN, id=identity, parent=parent, **({"kind": "step"} | fields))


@pytest.mark.parametrize(
    ("spans", "tokens", "uncounted"),
    [
        pytest.param([SPAN], None, 0, id="nobody counted"),
        pytest.param([SPAN, step("b", "a", usage=Usage(input_tokens=3))], 3, 0, id="a step counted"),
        pytest.param(
            [replace(SPAN, usage=Usage(input_tokens=9)), step("b", "a"), step("c", "b", usage=Usage(input_tokens=4))],
            4,
            0,
            id="what the innermost says counts, once",
        ),
        pytest.param(
            [SPAN, step("b", "a", kind="model"), step("c", "a", kind="model", usage=Usage(input_tokens=2))],
            2,
            1,
            id="a call of a model that nobody counted is told",
        ),
        pytest.param([step("a", "b", usage=Usage(input_tokens=1)), step("b", "a")], 1, 0, id="steps of each other"),
    ],
)
def test_tokens_are_counted_once(spans, tokens, uncounted):
    found = total_spending(spans)
    assert (found.input_tokens, found.uncounted, found.cost) == (tokens, uncounted, None)


def test_money_is_known_where_tokens_are_not():
    found = total_spending([SPAN, step("b", "a", cost=0.5, kind="model"), step("c", "a", cost=0.25, kind="model")])
    assert (found.cost, found.usage, found.uncounted) == (0.75, None, 2)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), max_size=10, unique_by=lambda pair: pair[0]))
def test_whatever_is_below_whatever_each_span_is_told_once(pairs):
    spans = [step(str(own), str(parent) if parent < 12 else "") for own, parent in pairs]
    assert sorted(span.id for span, _ in in_order(spans)) == sorted(span.id for span in spans)
    grouped = by_answer(spans)
    told = [one.id for answer, steps in grouped for one in ([answer] if answer else []) + [s for s, _ in steps]]
    assert sorted(told) == sorted(span.id for span in spans)
    assert all(depth >= 0 for _, steps in grouped for _, depth in steps)


def test_steps_whose_answer_is_not_there_stand_together():
    spans = [step("b", "lost"), SPAN, step("c", "a"), step("d", "lost"), step("e", "d")]
    assert [
        (answer.id if answer else None, [(s.id, depth) for s, depth in steps]) for answer, steps in by_answer(spans)
    ] == [
        (None, [("b", 0), ("d", 0), ("e", 1)]),
        ("a", [("c", 0)]),
    ]


@pytest.mark.parametrize(
    ("began", "seconds", "place"),
    [
        pytest.param("2026-11-22T09:00:01.000000+00:00", 1.0, (0.25, 0.5), id="within"),
        pytest.param("2026-11-22T09:00:03.000000+00:00", 9.0, (0.75, 1.0), id="longer than its answer"),
        pytest.param("2026-11-22T08:59:59.000000+00:00", 1.0, None, id="before its answer"),
        pytest.param("2026-11-22T09:00:01.000000+00:00", None, None, id="without an end"),
        pytest.param("2026-11-22", 1.0, None, id="without a zone"),
        pytest.param("never", 1.0, None, id="no date"),
    ],
)
def test_a_step_has_its_place_in_the_time_of_its_answer(began, seconds, place):
    assert share_of_time(step("b", "a", started=began, seconds=seconds), replace(SPAN, seconds=4.0)) == place


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"all of it","output":1', "all of it"),
        ('"cut of', "cut of"),
        ('"cut in an escape \\u26', "cut in an escape "),
        ('"cut in half a pair \\ud83d\\ude', "cut in half a pair \ud83d"),
        ('"cut behind a backslash \\', "cut behind a backslash "),
        ('{"a": "b', '{"a": "b'),
        ("", ""),
    ],
)
def test_the_beginning_of_a_long_question_is_read(text, said):
    assert _beginning(text) == said


@given(st.text(max_size=20))
def test_what_somebody_looks_for_is_found_as_it_is(text):
    # Without SQL: the pattern says each character for itself.
    pattern = like_pattern(text)
    bare = pattern.decode(errors="surrogatepass") if isinstance(pattern, bytes) else pattern
    assert re.sub("!(.)", r"\1", bare) == f"%{text}%"
    assert not re.search("(?<!!)[%_]", bare[1:-1].replace("!!", ""))
    assert str(like_pattern_in_json(text)).isascii()


WORDS = st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from([True, False, None]), st.sampled_from(["", "why"]))


@given(st.lists(st.lists(WORDS, max_size=5), min_size=1, max_size=4))
def test_what_people_say_of_an_answer_is_what_reports_say(tmp_path_factory, said):
    with open_store(tmp_path_factory.mktemp("store") / "evalmark.db") as store:
        for number, words in enumerate(said):
            identity = f"{number:016x}"
            session = replace(HEADER, id=identity)
            store.sessions.add([session], [replace(SPAN, id=identity, session=identity)])
            store.sessions.add_labels([
                Label(about=f"span:{identity}", liked=liked, comment=why, by=by, created=f"{BEGAN}{place}", content="c")
                for place, (by, liked, why) in enumerate(words)
            ])  # fmt: skip
        found = {one: store.sessions.browse(SessionFilter(labelled=one)).lines for one in LABEL_STATES}
        for number in range(len(said)):
            words = current_labels(store.sessions.labels([f"span:{number:016x}"]))
            thumbs = any(label.liked is not None for label in words)
            expected = {True: "up", False: "down", None: "disputed" if thumbs else "not"}[majority_vote(words)]
            assert [one for one, lines in found.items() if any(line.number == number + 1 for line in lines)] == [
                expected
            ]


def test_the_neighbours_of_a_session_are_those_that_are_wanted(traffic):
    ids = [f"{n:016x}" for n in range(6)]
    sessions = [replace(HEADER, id=one, project=("shop", "bank")[n % 2]) for n, one in enumerate(ids)]
    traffic.add(sessions, [])
    assert traffic.neighbours(SessionFilter(project="shop"), 3) == (ids[4], ids[0])
    assert traffic.neighbours(SessionFilter(), 6) == (None, ids[4])
    assert traffic.neighbours(SessionFilter(project="none"), 3) == (None, None)
    assert traffic.names() == (["bank", "shop"], [])
    assert traffic.count() == 6


DAYS = ("2026-11-20T23:59:59.999999+00:00", "2026-11-21T00:00:00.000000+00:00", "2026-11-22T09:00:00.000000+00:00")


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        pytest.param({"since": date(2026, 11, 21)}, [3, 2], id="from a day on"),
        pytest.param({"until": date(2026, 11, 21)}, [2, 1], id="to the end of a day"),
        pytest.param({"since": date(2026, 11, 21), "until": date(2026, 11, 21)}, [2], id="one day"),
        pytest.param({"until": date.max}, [3, 2, 1], id="to the last day there is"),
        pytest.param({"seconds": (2.0, None)}, [3, 2], id="from as many seconds"),
        pytest.param({"seconds": (None, 2.0)}, [2], id="to as many seconds, of those that were measured"),
        pytest.param({"seconds": (3.0, 3.0)}, [3], id="answers are added up"),
        pytest.param({"cost": (0.5, None)}, [3], id="the cost of steps, not once more of their answer"),
        pytest.param({"cost": (0.51, None)}, [], id="more than any cost"),
        pytest.param({"cost": (None, 9.0)}, [3, 2], id="to a cost, of those that are known"),
        pytest.param({"cost": (0.1, 1.0), "seconds": (None, 2.0)}, [2], id="both"),
    ],
)
def test_sessions_are_found_by_day_seconds_and_cost(traffic, wanted, numbers):
    headers = [replace(HEADER, id=f"{n:016x}", started=day) for n, day in enumerate(DAYS)]
    spans = [
        replace(SPAN, id="a0", session=headers[0].id, output='"cost":9,"seconds":9'),
        replace(SPAN, id="a1", session=headers[1].id, seconds=2.0, cost=0.25),
        replace(SPAN, id="a2", session=headers[2].id, seconds=1.0, cost=7.0),
        step("s2", "a2", session=headers[2].id, seconds=50.0),
        step("t2", "s2", session=headers[2].id, seconds=40.0, cost=0.5),
        replace(SPAN, id="b2", session=headers[2].id, seconds=2.0),
    ]
    traffic.add(headers, spans)
    assert [line.number for line in traffic.browse(SessionFilter(**wanted)).lines] == numbers


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(-1, 7), st.sampled_from([None, 0.25, 0.5, 1.0])), min_size=1, max_size=7),
    st.sampled_from([0.25, 0.5, 1.0, 1.75]),
)
def test_the_cost_of_a_session_is_the_one_that_the_list_shows(tmp_path_factory, made, limit):
    spans = [step(f"s{n}", f"s{parent}" if parent >= 0 else "", cost=cost) for n, (parent, cost) in enumerate(made)]
    spent = total_spending(spans).cost
    with open_store(tmp_path_factory.mktemp("store") / "evalmark.db") as store:
        store.sessions.add([HEADER], spans)
        found = store.sessions.browse(SessionFilter(cost=(limit, None))).lines
    assert bool(found) == (spent is not None and spent >= limit)


def test_a_prompt_that_very_many_spans_filled_is_found_too(traffic):
    steps = [step(f"{n:016x}", "a", template="greeting") for n in range(5_001)]
    traffic.add([HEADER], [SPAN, *steps])
    assert len(traffic.browse(SessionFilter(template="greeting")).lines) == 1
    assert traffic.browse(SessionFilter(template="other")).lines == ()


def test_nothing_is_there_of_a_session_that_is_not_recorded(traffic):
    assert traffic.part("none") is None
    assert traffic.span_position("none") is None
    assert list(traffic.iter_spans("none")) == []


@pytest.mark.parametrize(
    ("failed", "after", "found"),
    [
        pytest.param((), 0, "", id="none failed"),
        pytest.param((3,), 0, "", id="all are on the page"),
        pytest.param((3, 160, 320), 0, "s160", id="the first after the page"),
        pytest.param((3, 160, 320), 150, "s320", id="not the one on the page"),
        pytest.param((3, 160, 320), 300, "s3", id="the first before the last page"),
    ],
)
def test_a_part_of_a_session_names_a_failed_step_of_another_page(traffic, failed, after, found):
    steps = [step(f"s{n}", SPAN.id, error="HTTP 500" if n in failed else None) for n in range(1, 400)]
    traffic.add([HEADER], steps)
    part = traffic.part(HEADER.id, after)
    assert (part.failed, part.failed_elsewhere) == (len(failed), found)


@pytest.mark.parametrize(
    ("spans", "output"),
    [
        pytest.param([SPAN], SPAN.output, id="of the only answer"),
        pytest.param(
            [SPAN, replace(SPAN, id="z", output={"a": 1}), step("y", "z", output="a step")], {"a": 1}, id="of the last"
        ),
        pytest.param([replace(SPAN, output="a" * 70_000)], None, id="a large one"),
        pytest.param([replace(SPAN, output=None, error="HTTP 500")], None, id="it failed"),
        pytest.param([step("y", "z")], None, id="no answer has ended"),
    ],
)
def test_a_list_of_sessions_has_the_last_output(traffic, spans, output):
    traffic.add([HEADER], spans)
    (line,) = traffic.browse(SessionFilter()).lines
    assert line.last_output == output
