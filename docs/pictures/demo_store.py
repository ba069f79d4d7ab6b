"""Fills a store with invented runs and sessions of a shop's support bot, so that every page of the viewer has something to show.

Run: python docs/pictures/demo_store.py FILE [--hold]; `--hold` adds a run under way, which goes on until Ctrl+C.
The same seed makes the same store, but for its dates, which end now. The texts are in demo_texts.toml.
"""

import argparse
import asyncio
import json
import random
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evalmark import values as v
from evalmark.core.values.session import Session, Span
from evalmark.core.values.spending import spending_by_model, spending_of_reply
from evalmark.store import Store, open_store
from evalmark.tracing.annotations.labels import LabelSubject, NewLabel, result_subject, save_labels, span_subject

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("demo_texts.toml").read_text(encoding="utf-8"))
FORMS = TEXTS["special"]
BOT, AGENT, SMALL, LARGE, OTHER = (
    "tidewater.support:answer",
    "tidewater.agent:handle",
    "brook-small",
    "brook-large",
    "heron-2",
)
PRICES = {SMALL: 0.15, LARGE: 2.5, OTHER: 0.6}
"""US dollars for a million tokens of each model."""
TARGETS = {
    f"{prompt}.prompty on {model}": good + more
    for model, good in ((SMALL, 0.72), (LARGE, 0.9), (OTHER, 0.84))
    for prompt, more in (("terse", -0.05), ("friendly", 0.03))
}
"""How good each target is: about the share of cases that it answers well."""
NIGHTS = (0.84, 0.85, 0.84, 0.86, 0.85, 0.86, 0.85, 0.87, 0.64, 0.87, 0.88, 0.9, 0.9, 0.79)
OVERLOADED = 6
"""How good the bot is each night, and the night in which its provider is overloaded."""
JUDGES = {f"correct [{model}]": model for model in (LARGE, OTHER)}
METRICS = (
    v.Metric(name="similarity", threshold=0.7, unit="cosine", embeds=True),
    *(v.Metric(name=name, judge=model, base="correct") for name, model in JUDGES.items()),
    v.Metric(name="topic"),
    v.Metric(name="helpful", unit="1..5", judge=LARGE),
    v.Metric(name="words", direction="lower", unit="words"),
)
LONG_NAME = (
    "everything that customers wrote about refunds, deliveries and invoices between Easter and the end of summer " * 2
)


def drawn(seed: object) -> random.Random:
    """A source of numbers that are the same each time."""
    return random.Random(str(seed))  # noqa: S311


def iso(when: datetime) -> str:
    return when.isoformat(timespec="microseconds")


@dataclass(slots=True)
class RunWriter:
    """Makes the results of one run with their calls, and writes them."""

    store: Store
    run: v.Run
    draw: random.Random = field(default_factory=lambda: drawn(21))
    calls: list[v.Call] = field(default_factory=list)

    def call(self, model: str, system: str, asked: str, text: str = "", *tools: v.ToolCall) -> tuple[str, v.Reply]:
        """Add a model call; return its key and its reply."""
        turns = v.Turn(role="system", content=system), v.Turn(role="user", content=asked)
        request = v.Request(messages=turns, settings={"seed": self.draw.randrange(9**9)})
        usage = v.Usage(input_tokens=180 + len(asked) // 3, output_tokens=20 + len(text) // 3)
        cost = (180 + len(asked) + len(text)) / 3 * PRICES[model] / 1e6
        took = 0.3 + self.draw.expovariate(1.2)
        reply = v.Reply(text=text, tool_calls=tools, usage=usage, cost=cost, model=model, seconds=took)
        made = {"model": model, "identity": model, "request": request, "created": self.run.created}
        self.calls.append(v.Call(key=request.key(model), reply=reply, **made))
        return self.calls[-1].key, reply

    def result(
        self, case: v.Case, target: str = BOT, *, good: float = 0.85, broken: float = 0.004, repeat: int = 0
    ) -> v.Result:
        """Answer a case, well in a share `good` of the cases, and with an error in a share `broken`."""
        draw, row = self.draw, case.metadata["row"]
        trial = v.Trial(case=case, dataset="questions.jsonl", target=target, position=row, repeat=repeat)
        if draw.random() < broken:
            return v.Result(trial=trial, output=v.Output(error=draw.choice(TEXTS["errors"]), seconds=60.0, waited=41.5))
        is_good = draw.random() + case.metadata["hard"] < 2 * good
        text, wrong = FORMS[row]["output"].strip() if row < len(FORMS) else "", "we will look into it"
        if not text:
            topic = next(one for one in TEXTS["topic"] if one["tag"] == case.tags[0])
            sentences = draw.sample(topic["good"], 2 if "terse" in target else 3)
            wrong = draw.choice(topic["bad"])
            sentences[0] = sentences[0] if is_good else wrong
            parts = draw.choice(TEXTS["openings"]), " ".join(sentences), draw.choice(TEXTS["closings"])
            text, wrong = ("".join(parts).format(**case.metadata["slots"]), wrong.format(**case.metadata["slots"]))
        model = target.partition(" on ")[2] or SMALL
        key, reply = self.call(
            model, "You answer the customers of Tidewater, a shop. Be friendly.", str(case.input), text
        )
        shown = {
            "seconds": reply.seconds,
            "usage": reply.usage,
            "contexts": case.contexts,
            "metadata": {"calls": [key]},
        }
        scores = tuple(self._scores(case, text, is_good, TEXTS["reasons"][is_good].format(wrong)))
        return v.Result(trial=trial, output=v.Output(value=text, **shown), scores=scores)

    def _scores(self, case: v.Case, text: str, is_good: bool, reason: str) -> Iterator[v.Score]:
        draw = self.draw
        near = min(0.99, max(0.05, draw.gauss(0.84 if is_good else 0.66, 0.07)))
        yield v.Score(
            name="similarity", raw=near, value=near, passed=near >= 0.7, reason=f"closest reference: {near:.2f}"
        )
        for name, model in JUDGES.items():
            says = is_good != (draw.random() < (0.04 if model == LARGE else 0.15))
            why = reason if says == is_good else TEXTS["doubts"][says]
            asked = f"Question: {case.input}\nReference: {case.expected}\nAnswer: {text}"
            replied = json.dumps({"reason": why, "correct": says})
            key, _ = self.call(model, "Is the answer correct? Reply with reason and verdict as JSON.", asked, replied)
            detail = {"judge": model, "calls": [key], "verdict": says}
            yield v.Score(name=name, raw=says, value=float(says), passed=says, reason=why, detail=detail)
        said = case.tags[0] if draw.random() < 0.9 else draw.choice(TEXTS["topic"])["tag"]
        yield v.Score(name="topic", raw=said, value=float(said == case.tags[0]), reason=f"The answer is about {said}.")
        grade = min(5, max(1, round(draw.gauss(4.3 if is_good else 2.6, 0.8))))
        yield v.Score(name="helpful", raw=grade, value=(grade - 1) / 4, reason=TEXTS["grades"][grade < 3])
        yield v.Score(name="words", raw=len(text.split()), direction="lower")

    def agent_result(self, row: int, good: float) -> v.Result:
        """Handle a request with tools; where that goes wrong, the refund fails, and two times in three is tried again."""
        draw, texts, is_good = self.draw, TEXTS["agent"], self.draw.random() < good
        asked, role = (
            f"Order TW-{41_000 + row} arrived broken. I want my money back.",
            "You handle requests with tools.",
        )
        began, keys = datetime.fromisoformat(self.run.created) + timedelta(seconds=row * 9), list[str]()
        events: list[v.Turn | v.ToolCall] = [v.Turn(role="user", content=asked)]
        first, waited = len(self.calls), 0.0
        for tool in texts["tools"]:
            fails = tool["name"] == "pay_refund" and not is_good
            for error in ([texts["error"]] if fails else []) + ([None] if not fails or row % 3 else []):
                began += timedelta(seconds=draw.uniform(0.4, 2.5))
                made = v.ToolCall(**tool, started=iso(began), seconds=draw.uniform(0.1, 1.4))
                made = replace(made, result=None, error=error, seconds=30.0) if error else made
                keys.append(self.call(OTHER, role, f"{asked} (step {len(events)})", "", made)[0])
                events.append(made)
                waited += made.seconds or 0
        key, reply = self.call(OTHER, role, f"{asked} (end)", texts["said"][is_good])
        events.append(v.Turn(role="assistant", content=reply.text))
        replies = [call.reply for call in self.calls[first:] if call.reply]
        used = [one.usage for one in replies if one.usage]
        usage = v.Usage(
            input_tokens=sum(one.input_tokens or 0 for one in used),
            output_tokens=sum(one.output_tokens or 0 for one in used),
        )
        seconds = waited + sum(one.seconds or 0 for one in replies)
        shown = {"seconds": seconds, "usage": usage, "metadata": {"calls": [*keys, key]}}
        output = v.Output(value=reply.text, transcript=tuple(events), **shown)
        case = v.Case(id=f"broken-{row:02}", input=asked, expected="A refund without return.", tags=("refund", "agent"))
        score = v.Score(
            name="goal reached", value=float(is_good), raw=is_good, passed=is_good, reason=texts["reasons"][is_good]
        )
        trial = v.Trial(case=case, dataset="requests.jsonl", target=AGENT, position=row)
        return v.Result(trial=trial, output=output, scores=(score,))

    def write(self, results: Iterable[v.Result], status: str = "complete") -> list[v.Result]:
        """Write the run, or more of one that is running, with its calls."""
        made, run = list(results), self.run

        async def keep() -> None:
            log = self.store.call_log(run.id)
            await asyncio.gather(*(log.keep(call) for call in self.calls))
            await self.store.sink(run.id).write(made)

        if all(one.id != run.id for one in self.store.runs()):
            self.store.start(run)
        asyncio.run(keep())
        if status != "running":
            ended = iso(datetime.fromisoformat(run.created) + timedelta(seconds=len(made) * 1.7 + 4))
            spent = spending_by_model(spending_of_reply(call.model, call.reply) for call in self.calls if call.reply)
            self.store.finish(replace(run, status=status, finished=ended, spending=spent))
        return made


def cases(count: int) -> list[v.Case]:
    """Questions of customers; the first ones are in other scripts and forms."""
    draw, made = drawn("cases"), []
    for row in range(count):
        topic = FORMS[row] if row < len(FORMS) else draw.choice(TEXTS["topic"])
        slots = {"order": f"TW-{draw.randrange(10_000, 99_999)}", "days": str(draw.randrange(2, 40))}
        slots |= {"product": draw.choice(TEXTS["products"]), "city": draw.choice(TEXTS["cities"])}
        data = {"row": row, "hard": round(draw.random(), 2), "channel": draw.choice(("chat", "mail")), "slots": slots}
        if row < len(FORMS):
            known: dict[str, Any] = {
                "input": topic["input"],
                "expected": topic["expected"],
                "tags": tuple(topic["tags"]),
            }
        else:
            good = [text.format(**slots) for text in topic["good"]]
            known = {"input": draw.choice(topic["questions"]).format(**slots), "expected": " ".join(good[:2])}
            known["tags"] = (topic["tag"], "urgent") if draw.random() < 0.2 else (topic["tag"],)
            known["contexts"] = tuple(f"terms.md § {n}: {text}" for n, text in enumerate(good, start=1))
            known["history"] = (v.Turn(role="user", content="Hi"),) if draw.random() < 0.2 else ()
        made.append(
            v.Case(id=f"{known['tags'][0]}-{row:03}", metadata=data, place=f"questions.jsonl:{row + 1}", **known)
        )
    return made


def spans_of(session: Session, case: v.Case, number: int, draw: random.Random) -> list[Span]:
    """An answer of the recorded chat with its steps; some of them fail."""
    first, failed, texts = number << 8, draw.random() < 0.06, TEXTS["session"]
    known = {"session": session.id, "project": session.project, "input": case.input}
    at = datetime.fromisoformat(session.started) + timedelta(seconds=(number & 0xFFFF) * 41)
    outputs = {
        "retrieval": list(case.contexts or ()),
        "tool": {"order": case.metadata["slots"]["order"], "state": "sent"},
    }
    fault = {"error": texts["error"], "output": None}
    spans = [Span(id=f"{first:016x}", name="answer", started=iso(at), seconds=9.0, contexts=case.contexts, **known)]
    spans[0] = replace(spans[0], **(fault if failed else {"output": case.expected}))
    for place, step in enumerate(texts["steps"], start=1):
        made: dict[str, Any] = {
            "output": outputs.get(step["kind"], case.expected),
            "kind": step["kind"],
            "name": step["name"],
        }
        if step["kind"] == "model":
            used = v.Usage(input_tokens=draw.randrange(300, 2_000), output_tokens=draw.randrange(20, 200))
            made |= {"usage": used, "cost": draw.uniform(1e-4, 1e-2), "model": step["name"], "template": "support"}
        made |= fault if failed and step["name"] == "stock_of" else {}
        times = {"started": iso(at + timedelta(seconds=place)), "seconds": draw.uniform(0.2, 3)}
        spans.append(Span(id=f"{first + place:016x}", parent=f"{first + step['below']:016x}", **times, **made, **known))
    return spans


def add_sessions(store: Store, asked: list[v.Case], now: datetime, steps: int) -> None:
    """Recorded sessions of the shop's chat, the newest one long; some answers have labels."""
    draw = drawn("sessions")
    for number in range(36, 0, -1):  # the store lists the sessions written last first
        began = iso(now - timedelta(hours=number * 5))
        one = Session(
            id=f"{0x5E551000 + number:016x}", project="tidewater-chat", started=began, metadata={"channel": "web"}
        )
        spans = list[Span]()
        while len(spans) < (steps if number == 1 else number % 4 * 6 + 1):
            spans += spans_of(
                one, asked[-1 - (number * 7 + len(spans)) % len(asked)], (number << 16) + len(spans), draw
            )
        store.sessions.add([one], spans)
        if number % 2 and spans[0].error is None:
            save_labels(
                store, [(span_subject(spans[0]), NewLabel(liked=number % 3 > 0, by="ida", comment="Short enough?"))]
            )


def labels_of(run: str, results: list[v.Result]) -> Iterator[tuple[LabelSubject, NewLabel]]:
    """What two people say of outputs and of a judge's scores: mostly what the judge says."""
    draw, name = drawn("labels"), next(iter(JUDGES))
    for number, one in enumerate(result for result in results if result.output.error is None):
        judged = next(bool(score.passed) for score in one.scores if score.name == name)
        liked = judged != (draw.random() < 0.12)
        yield (
            result_subject(run, one),
            NewLabel(liked=liked, by="ida", comment="" if liked else "Not what our terms say."),
        )
        yield result_subject(run, one, name), NewLabel(liked=liked == judged, by="ida")
        if number % 3 == 0:
            yield result_subject(run, one), NewLabel(liked=liked != (draw.random() < 0.15), by="noor")


def header(name: str, when: datetime, count: int, **fields: Any) -> v.Run:
    """A run that is about to start; its id and revision follow from its name and time."""
    draw = drawn((name, when))
    known: dict[str, Any] = {"target": BOT, "metrics": METRICS, "gate": v.Gate(min_pass_rate=0.7, max_errors=2)}
    known |= {
        "revision": f"{draw.getrandbits(40):010x}",
        "suite": f"evals/{name[:80].replace(' ', '_')}.yaml",
        "plan": name,
    }
    known["datasets"] = (v.DatasetInfo(name="questions.jsonl", path="evals/questions.jsonl", rows=count),)
    run = f"{when:%Y%m%d-%H%M%S}-{''.join(draw.choices('abcdefgh2345', k=4))}"
    return v.Run(id=run, name=name, created=when.isoformat(), status="running", **(known | fields))


def under_way(store: Store, now: datetime, size: int = 200) -> Iterator[None]:
    """Begin a run and write half of its results; each further step writes three more."""
    asked, run = cases(size), header("support-bot", now - timedelta(seconds=size), size)
    for first, last in ((0, size // 2), *((n, n + 3) for n in range(size // 2, size, 3))):
        writer = RunWriter(store, run)
        writer.write([writer.result(case) for case in asked[first:last]], "running")
        yield


def fill(store: Store, now: datetime, size: int = 200, steps: int = 540) -> dict[str, str]:
    """Write all finished runs and sessions; return the ids of runs by what they show.

    Args:
        store: an open store.
        now: when all of it ends; whole seconds in UTC.
        size: the cases of a nightly run.
        steps: the least spans of the long session.
    """
    asked, ids = cases(size), dict[str, str]()

    def writer(what: str, name: str, hours: float, count: int = size, **fields: Any) -> RunWriter:
        run = header(name, now - timedelta(hours=hours), count, **fields)
        ids[what] = run.id
        return RunWriter(store, run, drawn(what))

    results: list[v.Result] = []
    for night, good in enumerate(NIGHTS, start=1):
        tags = ("nightly", f"prompt=v{2 + night // 5}")
        made = writer(f"night {night}", "support-bot", 24 * (len(NIGHTS) - night) + 6, tags=tags)
        broken = 0.08 if night == OVERLOADED else 0.004
        results = made.write(made.result(case, good=good, broken=broken) for case in asked)
    save_labels(store, list(labels_of(made.run.id, results[:90])))
    made = writer("several targets", "prompts-and-models", 5, target=", ".join(TARGETS), given_name="which-model")
    made.write(made.result(case, target, good=good) for case in asked for target, good in TARGETS.items())
    made = writer("repeats", "steadiness", 4, size // 4, repeat=4)
    made.write(made.result(case, repeat=repeat) for case in asked[: size // 4] for repeat in range(4))
    for hours, good in ((30, 0.85), (3, 0.6)):
        reached = (v.Metric(name="goal reached", judge=OTHER),)
        made = writer(f"agent, {good:.0%} good", "agent", hours, 24, target=AGENT, metrics=reached)
        made.write(made.agent_result(row, good) for row in range(24))
    made = writer("very long names", LONG_NAME, 28, 20, given_name=LONG_NAME[:78].replace(" ", "-").replace(",", ""))
    made.write(made.result(case) for case in asked[:20])
    made = writer("stopped", "support-bot", 1)
    made.write([made.result(case) for case in asked[: size // 3]], "stopped")
    add_sessions(store, asked[len(FORMS) :], now, steps)
    return ids


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("file", type=Path)
    words.add_argument("--hold", action="store_true", help="begin a run in it, and go on with it until Ctrl+C")
    given = words.parse_args()
    now = datetime.now(UTC).replace(microsecond=0)
    with open_store(given.file) as store:
        if not store.runs(1):
            for what, run in fill(store, now).items():
                print(f"{run}  {what}")
        for _ in under_way(store, now) if given.hold else ():
            time.sleep(2)


if __name__ == "__main__":
    main()
