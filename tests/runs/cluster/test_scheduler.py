"""The account of who has what: whatever happens to workers, every trial gets one result."""

from collections import Counter
from dataclasses import replace
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Output, Result
from evalmark.core.values.score import Trial
from evalmark.runs.cluster.messages import TrialFinished
from evalmark.runs.cluster.scheduler import MAX_WORKERS_LOST, WorkQueue
from evalmark.runs.engine.work import AnsweredTrial, AnsweredTurn, Conversation

BAD_ROW = Output(error="cases.csv:3: too few cells")


def trial(position, mode="single"):
    return Trial(case=Case(id=str(position), input=f"x{position}"), position=position, mode=mode)


def singles(count):
    return [trial(n) for n in range(count)]


def work_queue(items, room=4, workers=1, free=4):
    """A board whose workers would like to have so many items each."""
    made = WorkQueue(iter(items), room)
    for worker in range(workers):
        made.free(worker, free)
    return made


def finish(board, worker, number, part=0, value="ok"):
    """The result of a part, or None."""
    said = TrialFinished(number, part, Output(value=value), ())
    if (result := board.result(worker, said)) is not None:
        board.done(worker, said)
    return result


def numbers(gives):
    return [give.number for give in gives]


def test_a_worker_gets_as_many_items_as_it_asks_for_and_no_more_than_there_is_room_for():
    one = work_queue(singles(9), room=4, free=3)
    assert numbers(one.take(0)) == [1, 2, 3]
    assert one.take(0) == []
    one.free(0, 2)
    assert numbers(one.take(0)) == [4]
    finish(one, 0, 2)
    assert numbers(one.take(0)) == [5]
    assert one.item_count(0) == 4


def test_few_items_are_shared_out_among_all_workers():
    many = work_queue(singles(10), room=300, workers=5, free=2)
    assert [len(many.take(worker)) for worker in range(5)] == [2] * 5


def test_a_result_counts_once():
    one = work_queue(singles(1))
    one.take(0)
    assert finish(one, 0, 1).output.value == "ok"
    assert finish(one, 0, 1) is None
    assert finish(one, 0, 7) is None


def test_a_result_that_is_not_recorded_is_still_to_be_done():
    one = work_queue(singles(1), workers=2)
    one.take(0)
    assert one.result(0, TrialFinished(1, 0, Output(value="ok"), ())) is not None
    assert not one.is_done
    one.worker_lost(0, "gone")
    assert len(one.take(1)) == 1


def test_rows_that_cannot_be_read_need_no_worker_and_do_not_pile_up():
    rows = [Result(trial=trial(n), output=BAD_ROW) for n in range(3_000)]
    one = work_queue([*rows, trial(3_000)])
    assert one.take(0) == []
    assert len(one.ready_results) == 1_000
    assert one.is_full
    assert not one.is_exhausted
    for _ in range(3):
        one.ready_results.clear()
        gives = one.take(0)
    assert len(gives) == 1
    assert one.is_exhausted


def test_others_get_what_a_lost_worker_had_in_its_order_and_before_anything_new():
    two = work_queue(singles(6), room=3, workers=2, free=3)
    two.take(0)
    finish(two, 0, 2)
    two.worker_lost(0, "gone")
    assert [give.item.position for give in two.take(1)] == [0, 2, 3]


def test_after_the_end_of_the_work_it_is_done_only_when_nobody_has_anything():
    two = work_queue(singles(2), workers=2, free=2)
    two.take(0)
    assert two.take(1) == []
    assert two.is_exhausted
    assert not two.is_done
    finish(two, 0, 1)
    finish(two, 0, 2)
    assert two.is_done


def test_what_is_closed_begins_nothing_more_and_says_whether_something_was_left_out():
    one = work_queue(singles(2), free=1)
    one.take(0)
    assert one.close()
    one.free(0, 5)
    assert one.take(0) == []
    assert not one.close()


class GoneError(Exception):
    """A worker has ended over an item."""


def after(heard):
    """What a turn is answered: which turns were before it, and a sum over what they were answered."""
    return f"after {[said for said, _ in heard]}, {crc32(repr(heard).encode())}"


def answer(item, poison=()):
    """The parts of an item as a worker answers them, each with what it was told before."""
    turns, heard, part = item.turns if isinstance(item, Conversation) else (item,), [], 0
    for turn in turns:
        if isinstance(turn, AnsweredTurn):
            heard.append((turn.case.input, turn.output.value or turn.output.error))
            continue
        case = turn.case if isinstance(turn, Trial) else turn.trial.case
        if case.input in poison:
            raise GoneError
        if isinstance(turn, Result):
            yield part, turn.output
        else:
            output = turn.output if isinstance(turn, AnsweredTrial) else Output(value=after(heard))
            heard.append((case.input, output.value))
            yield part, output
        part += 1


class Workers:
    """Workers that work one item after the other, and are lost over some."""

    def __init__(self, items, count, room, poison=()):
        self.queue, self.poison = WorkQueue(iter(items), room), poison
        self.found = []
        self.lost = 0
        self.work = [{} for _ in range(count)]
        for worker in range(count):
            self.queue.free(worker, room)

    def take(self, worker):
        for give in self.queue.take(worker):
            self.work[worker][give.number] = answer(give.item, self.poison)
        self.found += self.queue.ready_results
        self.queue.ready_results.clear()

    def step(self, worker, which=0):
        """One more part of one of the items in worker."""
        if not self.work[worker]:
            return
        number = sorted(self.work[worker])[which % len(self.work[worker])]
        try:
            part, output = next(self.work[worker][number])
        except StopIteration:
            del self.work[worker][number]
            self.queue.free(worker, 1)
        except GoneError:
            self.worker_lost(worker)
        else:
            said = TrialFinished(number, part, output, ())
            self.found.append(self.queue.result(worker, said))
            self.queue.done(worker, said)

    def worker_lost(self, worker):
        self.lost += 1
        self.found += self.queue.worker_lost(worker, "gone")
        self.work[worker] = {}
        self.queue.free(worker, 3)

    def until_done(self):
        while not self.queue.is_done or any(self.work):
            for worker in range(len(self.work)):
                self.take(worker)
                self.step(worker)
        self.take(0)
        return self.found


def items_of(kinds):
    """Items of the kinds; each place once."""
    items, place = [], 0
    for kind, size in kinds:
        trials = [trial(place + n, "conversation" if kind == "talk" else "single") for n in range(size)]
        place += size
        if kind == "talk":
            said = AnsweredTurn(case=Case(id="s", input="said"), output=Output(value="before"))
            bad = Result(trial=replace(trials[0], case=Case(id="bad", input="bad")), output=BAD_ROW)
            items.append(Conversation(target="", turns=iter((said, bad, *trials[1:]))))
        elif kind == "known":
            items += [AnsweredTrial(trial=one, output=Output(value="known")) for one in trials]
        elif kind == "bad":
            items += [Result(trial=one, output=BAD_ROW) for one in trials]
        else:
            items += trials
    return items, place


def wanted(kinds):
    """What each place is answered, whoever does it and however often it is begun."""
    found = {}
    for item in items_of(kinds)[0]:
        if isinstance(item, Result):
            found[item.trial.position] = item.output
            continue
        turns = tuple(item.turns) if isinstance(item, Conversation) else ()
        trials = [getattr(turn, "trial", turn) for turn in turns if not isinstance(turn, AnsweredTurn)] or [
            getattr(item, "trial", item)
        ]
        whole = replace(item, turns=turns) if turns else item
        found |= {trials[part].position: output for part, output in answer(whole)}
    return found


KINDS = st.lists(st.tuples(st.sampled_from(["single", "talk", "known", "bad"]), st.integers(1, 4)), max_size=8)
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "step", "step", "step", "lose"]), st.integers(0, 2), st.integers(0, 5)),
    max_size=60,
)


@given(KINDS, STEPS, st.integers(1, 6), st.integers(1, 3))
def test_whatever_happens_every_trial_gets_one_result_and_turns_know_those_before_them(kinds, steps, room, count):
    items, places = items_of(kinds)
    workers = Workers(items, count, room)
    for what, worker, which in steps:
        if what == "take":
            workers.take(worker % count)
        elif what == "step":
            workers.step(worker % count, which)
        else:
            workers.worker_lost(worker % count)
    found = workers.until_done()
    assert Counter(result.trial.position for result in found) == dict.fromkeys(range(places), 1)
    expected = wanted(kinds)
    for result in found:
        gave_up = (result.output.error or "").startswith(f"{MAX_WORKERS_LOST} workers ended while they ran this case")
        assert gave_up or result.output == expected[result.trial.position]


@given(st.integers(1, 9), st.sets(st.integers(0, 8), max_size=3), st.integers(1, 3), st.integers(1, 3))
def test_a_turn_that_no_worker_survives_is_given_up_and_those_after_it_do_without_it(count, poison, room, workers):
    turns = [trial(n, "conversation") for n in range(count)]
    poison = {n for n in poison if n < count}
    story = Workers(
        [Conversation(target="", turns=turns), *singles(100)[count:]], workers, room, {f"x{n}" for n in poison}
    )
    found = {result.trial.position: result.output for result in story.until_done()}
    assert {n for n, output in found.items() if output.error} == poison
    survivors = [one for one in turns if one.position not in poison]
    alone = answer(Conversation(target="", turns=survivors))
    assert [found[one.position] for one in survivors] == [output for _, output in alone]


@given(st.integers(1, 30), st.sets(st.integers(0, 29), max_size=4), st.integers(1, 12), st.integers(1, 4))
def test_a_case_that_no_worker_survives_is_given_up_and_no_other_one(count, poison, room, workers):
    inputs = {f"x{place}" for place in poison}
    story = Workers(singles(count), workers, room, inputs)
    found = {result.trial.position: result.output for result in story.until_done()}
    assert set(found) == set(range(count))
    poison = {place for place in poison if place < count}
    assert {place for place, output in found.items() if output.error} == poison
    assert story.lost <= MAX_WORKERS_LOST * len(poison)


def test_a_case_that_is_given_up_says_how_often_and_why():
    workers = Workers(singles(2), 1, 1, {"x0"})
    given_up = next(result for result in workers.until_done() if result.output.error)
    assert (
        given_up.output.error == "5 workers ended while they ran this case, so it is not run again; the last one: gone"
    )


def test_a_long_conversation_whose_workers_end_now_and_then_is_not_given_up():
    workers = Workers([Conversation(target="", turns=[trial(n, "conversation") for n in range(40)])], 1, 1)
    for _ in range(2 * MAX_WORKERS_LOST):
        workers.take(0)
        workers.step(0)
        workers.worker_lost(0)
    found = workers.until_done()
    assert [result.output.error for result in found] == [None] * 40
    assert "x38" in found[-1].output.value


def positions(gives):
    return [give.item.position for give in gives]


def test_suspects_are_tried_alone_and_half_of_the_workers_go_on_with_new_cases_meanwhile():
    many = work_queue(singles(100), room=3, workers=4, free=3)
    for worker in (1, 2, 3, 0):
        many.take(worker)
    for _ in range(2):
        many.worker_lost(0, "gone")
        many.free(0, 3)
        suspects = many.take(0)
    assert positions(suspects) == [9], "of 9, 10 and 11, which two workers have not survived"
    many.free(1, 9)
    many.free(2, 9)
    many.free(3, 9)
    finish(many, 1, 1)
    finish(many, 2, 4)
    finish(many, 3, 7)
    assert [positions(many.take(worker)) for worker in (1, 2, 3)] == [[], [], [12]]
    finish(many, 1, 2)
    finish(many, 1, 3)
    assert positions(many.take(1)) == [10]
    finish(many, 0, suspects[0].number)
    assert positions(many.take(0)) == [11]
    finish(many, 2, 5)
    assert positions(many.take(2)) == [13, 14], "no suspect waits any more"
