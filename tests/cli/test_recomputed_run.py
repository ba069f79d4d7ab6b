"""Numbers of a run that was killed and taken up again, computed once more from what the model server sent and the rows of the store."""

import json
import math
import signal
import sqlite3
import time
from collections import Counter, defaultdict
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from evalmark.core.money import money
from evalmark.reports.text.numbers import duration, percent
from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedReply, ScriptedServer, Status
from tests.reports.test_recomputed_numbers import share_ends
from tests.reports.viewer.conftest import from_browser, shown

PRICES = {"big": (100.0, 400.0, 10.0), "tiny": (1.0, 4.0, 1.0), "wise": (3.0, 5.0, 3.0)}
"""Dollars for a million tokens in, out, and in from the provider's cache."""
NAMES = {"big": "large", "tiny": "small", "wise": "judge"}
SUITE = """
name: models
datasets: cases.jsonl
target: {prompt: ask.prompty, models: [large, small]}
repeat: 3
cluster: document
judge: judge
metrics: [equals, {criteria: {criteria: The answer is polite.}}]
"""
PROMPT = "---\nname: Ask\ninputs:\n  question: {type: string}\n---\nuser:\n{{question}}\n"
CASES, REPEATS = 24, 3


def table_of_prices() -> str:
    rows = (
        f'{NAMES[model]} = {{provider = "openai", model = "{model}", input = {sent}, output = {got}, cached = {cached}}}'
        for model, (sent, got, cached) in PRICES.items()
    )
    return "\n".join(["[tool.evalmark.models]", *rows])


class Provider:
    """Answers by chance, the same every time; some calls fail, one is to be repeated, some have cached tokens or no usage."""

    def __init__(self) -> None:
        self.asked = Counter[tuple[str, str]]()
        self.sent = defaultdict[str, list[tuple[int, int, int] | None]](list)

    def __call__(self, request):
        key = (request.model, request.text)
        self.asked[key] += 1
        chance = int(sha256(repr((*key, self.asked[key])).encode()).hexdigest(), 16)
        time.sleep(chance % 7 / 1_000)
        if request.model == "wise":
            used = (300, 0, 20)
            text = json.dumps({"reason": "It is.", "answer": "ABCDE"[chance % 5]})
        else:
            case = int(request.text)
            if (request.model, case) == ("tiny", 7):
                return Status(400)
            if case == 9 and self.asked[key] == 1:
                return Status(429, headers={"retry-after": "0.01"})
            used = (100 + case, 50 if case % 5 == 0 else 0, 10 + case % 7)
            text = "yes" if chance % 100 < (80 if request.model == "big" else 45) else "no"
            if (request.model, case) == ("big", 11):
                used = None
        self.sent[request.model].append(used)
        return ScriptedReply(text=text, usage=used and usage(*used))


def usage(sent: int, cached: int, got: int) -> dict:
    return {
        "prompt_tokens": sent,
        "completion_tokens": got,
        "total_tokens": sent + got,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def price(model: str, used: tuple[int, int, int]) -> float:
    sent, cached, got = used
    per_input, per_output, per_cached = PRICES[model]
    return ((sent - cached) * per_input + cached * per_cached + got * per_output) / 1e6


@pytest.fixture
def killed(world, monkeypatch, evalmark, process):
    """The output of the second half of a run whose process was killed."""
    rows = [
        {"id": f"c{n}", "input": {"question": str(n)}, "expected": "yes", "metadata": {"document": n // 3}}
        for n in range(CASES)
    ]
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("pyproject.toml").write_text(table_of_prices(), encoding="utf-8")
    Path("ask.prompty").write_text(PROMPT, encoding="utf-8")
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    provider = Provider()
    with ScriptedServer(provider) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        with process("run", "suite.yaml", "-q", "-j", "2") as running:
            while server.count < 70 and running.poll() is None:
                time.sleep(0.005)
            running.send_signal(signal.SIGKILL)
        assert running.returncode == -signal.SIGKILL
        time.sleep(0.1)  # replies under way are still counted by the server
        before = {model: len(used) for model, used in provider.sent.items()}
        done = evalmark("run", "suite.yaml", "-j", "4", "--resume", "last")
    return done.out, provider, before


def stored(query: str) -> list:
    with sqlite3.connect(".evalmark/evalmark.db") as store:
        return store.execute(query).fetchall()


def rows_of(target: str) -> list[tuple[str, str, dict, list]]:
    """Case, verdict, output and scores of each result of a target."""
    found = stored(f"select case_id, verdict, output, scores from result where target = '{target}' and pass > 0")  # noqa: S608
    return [(case, verdict, json.loads(output), json.loads(scores)) for case, verdict, output, scores in found]


def expected_prices(model: str) -> list[float]:
    """What each output of known price cost."""
    priced = [n for n in range(CASES) if (model, n) not in (("big", 11), ("tiny", 7))]
    return [price(model, (100 + n, 50 if n % 5 == 0 else 0, 10 + n % 7)) for n in priced for _ in range(REPEATS)]


def pass_at(passed: dict[str, list[bool]], k: int) -> tuple[float, float, int]:
    """pass@k and pass^k as the mean over cases, by their definition, and the number of cases."""
    enough = [flags for flags in passed.values() if len(flags) >= k]
    both = [
        (
            1 - math.comb(flags.count(False), k) / math.comb(len(flags), k),
            math.comb(sum(flags), k) / math.comb(len(flags), k),
        )
        for flags in enough
    ]
    return float(np.mean([one for one, _ in both])), float(np.mean([every for _, every in both])), len(both)


@pytest.mark.slow
def test_costs_times_and_repeats_of_a_resumed_run_follow_from_what_was_sent(killed, evalmark):
    text, provider, before = killed
    assert 0 < sum(before.values()) < sum(map(len, provider.sent.values()))
    evalmark("report", "last", "-o", "run.json", "-o", "run.md", "-o", "run.html")
    evalmark("compare", "last", "-o", "targets.json")
    document = json.loads(Path("run.json").read_text("utf-8"))
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        page = from_browser(shown(store), f"/runs/{document['run']['id']}").text
    texts = {"terminal": text, "Markdown": Path("run.md").read_text("utf-8"), "page": page}
    texts["HTML"] = Path("run.html").read_text("utf-8")
    figures = []

    spent = {one["model"]: one for one in document["run"]["spending"]}
    for model in ("big", "tiny"):
        prices, name = expected_prices(model), NAMES[model]
        assert spent[name]["cost"] == pytest.approx(math.fsum(prices))
        assert spent[name]["unknown_cost"] == (REPEATS if model == "big" else 0)
        assert spent[name]["failed"] == (REPEATS if model == "tiny" else 0)
        figures.append(money(math.fsum(prices)))
    judged = stored("select count(*) from call where model = 'judge'")[0][0]
    assert (spent["judge"]["calls"], spent["judge"]["cost"]) == (
        judged,
        pytest.approx(judged * price("wise", (300, 0, 20))),
    )
    lost = sum(one["repeated"] for one in spent.values())
    assert sum(one["calls"] for one in spent.values()) + lost >= sum(map(len, provider.sent.values()))
    assert sum(one["calls"] for one in spent.values()) <= sum(map(len, provider.sent.values()))

    costs = {row["target"]: row for row in json.loads(Path("targets.json").read_text("utf-8"))["trade_offs"]}
    for model in ("big", "tiny"):
        assert costs[NAMES[model]]["cost"] == pytest.approx(np.mean(expected_prices(model)))

    for group in document["summary"]["groups"]:
        rows, tally = rows_of(group["target"]), group["tally"]
        assert (tally["trials"], len({case for case, *_ in rows})) == (CASES * REPEATS, CASES)
        seconds = [output["seconds"] for *_, output, _ in rows if output.get("seconds") is not None]
        assert (tally["seconds_median"], tally["seconds_p95"]) == pytest.approx(
            tuple(np.quantile(seconds, [0.5, 0.95]))
        )
        passed: dict[str, list[bool]] = defaultdict(list)
        for case, verdict, *_ in rows:
            if verdict in ("pass", "fail"):
                passed[case].append(verdict == "pass")
        once, (any_of, all_of, n) = pass_at(passed, 1)[0], pass_at(passed, REPEATS)
        found = group["repeats"]
        assert (found["once"]["value"], found["any_of"]["value"], found["all_of"]["value"]) == pytest.approx(
            (once, any_of, all_of)
        )
        assert (found["all_of"]["n"], found["all_of"]["left_out"]) == (n, CASES - n)
        flags = [(float(flag), int(case[1:]) // 3) for case, several in passed.items() for flag in several]
        ends = share_ends([flag for flag, _ in flags], [unit for _, unit in flags])
        interval = tally["pass_rate"]["interval"]
        assert (interval["low"], interval["high"]) == pytest.approx(ends, abs=2e-6)
        assert tally["flips"] == sum(len(set(several)) > 1 for several in passed.values())
        figures += [percent(np.mean([flag for flag, _ in flags])), percent(any_of), percent(all_of)]
    total = document["summary"]["total"]
    figures += [duration(total["seconds_median"]), duration(total["seconds_p95"])]
    for name, shown_text in texts.items():
        flat = " ".join(shown_text.replace("\N{NO-BREAK SPACE}", " ").split())
        assert [figure for figure in figures if figure not in flat] == [], name
