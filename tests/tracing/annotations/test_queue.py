"""Queues of outputs: the same ones in the same order for everybody, and what is left of them for one person."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from evalmark import Case, Output, Result, Run
from evalmark.core.values.label import Label
from evalmark.core.values.score import Trial
from evalmark.core.values.session import Session, Span
from evalmark.errors import StoreError
from evalmark.storage.queries.filter import ResultFilter
from evalmark.store import open_store
from evalmark.tracing.annotations.labels import result_subject
from evalmark.tracing.annotations.queue import AnnotatorProgress, OutputSource, QueueItem, queue_agreement

ITEMS = tuple(QueueItem(about=f"output:r/{number:012x}", number=number) for number in range(50))


def label(item, by="ann", liked=True, minute=0, **fields):
    when = f"2026-11-22T02:{minute:02}:00+00:00"
    return Label(about=item.about, by=by, liked=liked, created=when, content="c", **fields)


def part(*labels, by="ann", items=ITEMS[:4]):
    return AnnotatorProgress(items=items, labels=labels, by=by)


def test_what_is_left_comes_from_a_place_on_and_what_was_skipped_comes_at_the_end():
    found = part(label(ITEMS[1]), label(ITEMS[3]), label(ITEMS[2], by="bob"), label(ITEMS[9]))
    assert found.done == {1, 3}
    assert [found.next_unlabelled(start) for start in range(5)] == [0, 2, 2, 0, 0]
    assert not found.is_done
    assert part(*(label(item) for item in ITEMS[:4])).next_unlabelled() is None


def test_nothing_to_label_is_done():
    assert part(items=()).is_done
    assert part(items=()).next_unlabelled() is None


def test_a_comment_alone_is_no_label_and_what_was_taken_back_is_none():
    found = part(
        label(ITEMS[0], liked=None, comment="hm"), label(ITEMS[1]), label(ITEMS[1], liked=None, minute=1), by="ann"
    )
    assert found.done == frozenset()
    assert found.last is None


def test_what_is_undone_is_the_last_thing_that_this_person_has_said():
    found = part(
        label(ITEMS[2], minute=1),
        label(ITEMS[0], minute=2),
        label(ITEMS[3], minute=3, by="bob"),
        label(ITEMS[9], minute=4),
        label(ITEMS[2], minute=5, liked=None, comment="and so"),
    )
    assert found.last == 0
    assert part(label(ITEMS[0], by="bob")).last is None


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        yield made


def result(name, **output):
    trial = Trial(case=Case(id=name, input=f"What is {name}?"), dataset="d", target="app")
    return Result(trial=trial, output=Output(**{"value": name, **output}))


def test_outputs_of_a_run_are_known_by_what_labels_are_about(store):
    run = Run(id="r", name="r", created="2026-11-22T02:00:00+00:00", status="running")
    store.start(run)
    results = [result("a"), result("b", value=None, error="E: late"), result("c", contexts=("ctx",))]
    asyncio.run(store.sink("r").write(results))
    store.finish(replace(run, status="complete"))
    source = OutputSource(store=store, run="r", browsing=store.browse("r"))
    shown = {item.about: source.view(item) for item in source.sample(ResultFilter())}
    assert {about: (one.subject, one.input, one.value, one.contexts) for about, one in shown.items()} == {
        result_subject("r", one).about: (result_subject("r", one), one.trial.case.input, one.output.value, contexts)
        for one, contexts in ((results[0], ()), (results[2], ("ctx",)))
    }
    with pytest.raises(StoreError, match="does not have this result"):
        source.view(QueueItem(about="output:r/0", number=99))


def test_recorded_answers_are_known_by_their_spans_and_answers_to_one_input_are_one_case(store):
    session = Session(id="5" * 16, project="demo", started="2026-11-22T00:00:00+00:00")
    spans = [
        Span(id=f"{number:016x}", session=session.id, project="demo", started=session.started, input=given, output="x")
        for number, given in enumerate(["hello"] * 12 + ["bye"])
    ]
    failed = replace(spans[0], id="f" * 16, error="E: x", output=None)
    step = replace(spans[0], id="e" * 16, parent=spans[0].id)
    store.sessions.add([session], [*spans, failed, step])
    source = OutputSource(store=store, project="demo")
    items = source.sample(ResultFilter())
    assert {(item.span, item.about) for item in items} == {(span.id, f"span:{span.id}") for span in spans}
    assert {source.view(item).input for item in items} == {"hello", "bye"}
    labels = [label(item, by, liked=number % 3 > 0) for number, item in enumerate(items) for by in ("ann", "bob")]
    store.sessions.add_labels(labels)
    assert len(source.labels(items[:2])) == 4
    found = queue_agreement(source, AnnotatorProgress(items=tuple(items), labels=source.labels(items), by="ann"))
    assert found.pairs[0].compared.kappa == 1.0
    assert found.pairs[0].compared.kappa_interval.method == "none: fewer than 10 cases"
    assert OutputSource(store=store, project="other").sample(ResultFilter()) == ()


@pytest.mark.parametrize("kind", ["run", "project"])
def test_a_sample_is_the_same_for_everybody_and_in_no_order_of_the_source(store, kind):
    run = Run(id="r", name="r", created="2026-11-22T02:00:00+00:00", status="running")
    session = Session(id="5" * 16, project="demo", started="2026-11-22T00:00:00+00:00")
    span = Span(id="0" * 16, session=session.id, project="demo", started=session.started, output="x")

    def more(first, last):
        """Outputs of a run that is written in two goes, or what is recorded."""
        if kind == "run":
            asyncio.run(sink.write([result(f"c{number:03}") for number in range(first, last)]))
        store.sessions.add([session], [replace(span, id=f"{number:016x}") for number in range(first, last)])

    store.start(run)
    sink = store.sink("r")
    more(0, 60)
    found = {
        "run": OutputSource(store=store, run="r", browsing=store.browse("r")),
        "project": OutputSource(store=store, project="demo"),
    }
    source = found[kind]
    every = source.sample(ResultFilter())
    assert len(set(every)) == 60
    assert source.sample(ResultFilter(), 20) == every[:20]
    other = source.sample(ResultFilter(), seed="2")
    assert set(other) == set(every)
    assert len({*other[:20]} & {*every[:20]}) < 15
    for order in (every, other):
        places = [item.number or int(item.span or "0", 16) for item in order]
        assert 15 < sum(after > before for before, after in pairwise(places)) < 45
    more(60, 90)
    later = source.sample(ResultFilter())
    assert [item for item in later if item in set(every)] == [*every]
    assert len({*later[:20]} - {*every}) > 0
