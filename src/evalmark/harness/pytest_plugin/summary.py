"""The end of a test run with evals: closes the run, prints its table, applies its gate."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from evalmark.core.errors import EvalmarkError
from evalmark.core.text import clean, count, encodable, one_line, safe_for_ci
from evalmark.core.values.case import Output
from evalmark.core.values.run import Gate, Run, RunStatus
from evalmark.core.values.score import Result
from evalmark.harness.evals.eval_plan import NO_JUDGE
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.eval_table import eval_screen
from evalmark.reports.text.verdicts import gate_outcome
from evalmark.stats.summary.gate import GateVerdict, apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.store.location import display_location

from .hooks import first_line
from .result_store import RunKeeper, read_payload
from .state import PluginState, print_line

SOFT_FAIL = "SOFT FAIL"
SOFT_VERDICTS = {"fail": "failed", "unscored": "unscored", "error": "with errors"}
WORDS = {"unscored": ("unscored", "u", "UNSCORED"), "error": ("eval errors", "e", "EVAL ERROR")}
"""Category, letter and word of pytest for a test without a verdict."""


class EvalSummary:
    """Gathers results from all reports, and prints the summary of the evals; in the main process."""

    def __init__(self, state: PluginState) -> None:
        self._state = state
        self._others_failed = 0
        """Failed tests that are not evals, or whose scores passed."""
        self._begun: dict[str, Run] = {}
        """Running tests of evals in workers, by id."""
        self._details: list[tuple[str, str, Any]] = []
        """Tests without a verdict: pytest's word, the id, and the message."""
        self._soft = Counter[str]()
        """Tests that did not pass but leave the exit code unchanged, by verdict."""
        self._interrupted = self._is_over = False
        self._notes: list[str] = []
        self._run: Run | None = None
        self._fault = ""

    # While tests run.

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Store the results of a worker, and count failures of other tests."""
        self._take(report)
        verdict = getattr(report, "evalmark_verdict", None)
        if report.failed and verdict is None:
            self._others_failed += 1
        if report.failed and verdict in WORDS:
            self._details.append((WORDS[verdict][2], report.nodeid, report.longrepr))
        elif getattr(report, "evalmark_soft", False):
            self._details.append((SOFT_FAIL, report.nodeid, report.longrepr))
            self._soft[str(verdict)] += 1

    def _take(self, report: Any) -> None:
        payload_at_start = getattr(report, "evalmark_begun", None)
        if payload_at_start is not None and (part := read_payload(payload_at_start)) is not None:
            self._begun[report.nodeid] = part
        if report.when == "call":
            self._begun.pop(report.nodeid, None)
        elif report.when == "???" and report.nodeid in self._begun:
            self._keep(_lost(self._begun.pop(report.nodeid), str(report.longrepr)))
        for payload in getattr(report, "evalmark", ()):
            if (part := read_payload(payload)) is not None:
                self._keep(part)

    def _keep(self, part: Run) -> None:
        """Store a part from another process; if that fails, pytest continues and the whole run fails."""
        try:
            self._state.keeper.keep(part)
        except EvalmarkError as error:
            self._fault = str(error)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, Any] | None:
        """Name unscored trials, errors and soft failures, and show the scores of each test."""
        verdict = getattr(report, "evalmark_verdict", None)
        if verdict is None or report.when != "call":
            return None
        scores = "" if self._is_over else _scores(report)  # pytest's short summary begins lines with the same word
        if getattr(report, "evalmark_soft", False):
            return "soft-failed", "S", (f"{SOFT_FAIL}{scores}", {"yellow": True})
        if report.failed and verdict in WORDS:
            category, letter, word = WORDS[verdict]
            return category, letter, (f"{word}{scores}", {"yellow": True})
        if hasattr(report, "wasxfail") or not scores or report.skipped:
            return None
        if report.passed:
            return "passed", ".", (f"PASSED{scores}", {"green": True})
        return "failed", "F", (f"FAILED{scores}", {"red": True})

    def pytest_keyboard_interrupt(self) -> None:
        """Mark the run as interrupted, so that it can be resumed."""
        self._interrupted = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Take the notes of an xdist worker at its end."""
        notes = getattr(node, "workeroutput", {}).get("evalmark_notes", ())
        self._notes += [note for note in notes if note not in self._notes]

    # At the end.

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the run; a gate decides the exit code of the evals."""
        state = self._state
        self._is_over = True
        if not state.on:
            return
        try:
            self._run = self._close_run(session)
        except EvalmarkError as error:
            self._fault = str(error)
        if self._fault:
            session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED
            return
        ended_by_tests = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if state.gate is not None and ended_by_tests and not session.config.option.collectonly:
            holds = (state.is_soft or self._verdict(state.gate).outcome == "pass") and not self._others_failed
            session.exitstatus = pytest.ExitCode.OK if holds else pytest.ExitCode.TESTS_FAILED

    def _close_run(self, session: pytest.Session) -> Run | None:
        state = self._state
        with suppress(KeyboardInterrupt):
            if self._interrupted and state.is_busy:
                print_line(
                    state.config, "waiting for running cases, at most 10 s; press Ctrl-C again to leave them out"
                )
            state.stop()
        keeper = state.keeper
        if not isinstance(keeper, RunKeeper) or not keeper.is_used:
            return None
        stopped = self._interrupted or keeper.is_broken or bool(session.shouldstop or session.shouldfail)
        status: RunStatus = "interrupted" if stopped else "complete"
        return keeper.finish(status, [*state.notes(), *self._notes])

    def _verdict(self, gate: Gate) -> GateVerdict:
        run = self._run or Run(id="", name="pytest", created="")
        return apply_gate(summarise(run), gate)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table of evals, and details of trials that could not be scored."""
        state = self._state
        if state.config.option.tbstyle != "no":
            for word, nodeid, details in self._details:
                if NO_JUDGE in str(details) and word != WORDS["error"][2]:
                    continue  # one line at the end says it for all of them
                title = "soft-failed" if word == SOFT_FAIL else "not judged"
                terminalreporter.section(f"{title}: {clean(nodeid)}", sep="_", yellow=True, bold=True)
                terminalreporter.write_line(clean(str(details)))
        if self._fault:
            terminalreporter.section("evals", red=True)
            terminalreporter.write_line(clean(self._fault))
        is_gated = state.on and state.gate is not None and not state.config.option.collectonly
        if self._run is not None or is_gated:
            self._print_table(terminalreporter)
        if state.is_soft and state.on and not state.config.option.collectonly:
            self._print_soft(terminalreporter)
        if "E" in terminalreporter.reportchars:
            self._print_unscored(terminalreporter)

    def _print_soft(self, reporter: Any) -> None:
        """Say loudly how many evals did not pass although the exit code does not show it."""
        gate = None if self._state.gate is None else self._verdict(self._state.gate)
        words = [f"{self._soft[verdict]} {name}" for verdict, name in SOFT_VERDICTS.items() if self._soft[verdict]]
        failed = [f"{count(self._soft.total(), 'eval')} did not pass ({', '.join(words)})"] if words else []
        failed += [] if gate is None or gate.outcome == "pass" else [f"the gate {gate_outcome(gate)}"]
        text = f"{'; '.join(failed)}; the exit code does not show it." if failed else "every eval passed."
        look = {"yellow": True, "bold": True} if failed else {"green": True}
        reporter.write_line(f"--evalmark-soft: {text}", **look)

    def _print_unscored(self, reporter: Any) -> None:
        """Print a line for each trial that could not be scored, as pytest's short summary does for failures."""
        for word, nodeid, details in self._details:
            line = f"{word} {clean(nodeid)} - {first_line(details)}"
            reporter.write_line(one_line(line, max(40, reporter._tw.fullwidth - 1)), yellow=True)

    def _print_table(self, reporter: Any) -> None:
        state = self._state
        location = state.config.getoption("evalmark_store")
        store = f" --store {display_location(location)}" if location else ""
        look = TerminalStyle(
            width=max(60, min(reporter._tw.fullwidth, 140)),
            color=bool(reporter.hasmarkup),
            flags=store,
            unicode=(getattr(reporter._tw._file, "encoding", None) or "").lower().startswith("utf"),
        )
        reporter.section("evals")
        run = self._run or Run(id="", name="pytest", created="")
        costs = state.keeper.costs if isinstance(state.keeper, RunKeeper) else {}
        baseline = state.keeper.baseline if isinstance(state.keeper, RunKeeper) else None
        verdict = None if state.gate is None else self._verdict(state.gate)
        table = eval_screen(run, costs, look, verdict=verdict, baseline=baseline)
        reporter.write(safe_for_ci(encodable(table, reporter._tw._file)))  # pytest would escape the ends of lines, too
        if message := _missing_judge(run):
            reporter.write_line(clean(message), yellow=True, bold=True)
        if run.id:
            reporter.write_line(f"Show it again with: evalmark show {run.id}{store}")
        if run.status == "interrupted":
            reporter.write_line(f"To resume, run the same pytest command with: --evalmark-resume {run.id}")


def _scores(report: Any) -> str:
    """Return the scores of a test as ` (name value, …)`; empty if it has none of its own."""
    shown = ", ".join(map(clean, getattr(report, "evalmark_scores", ())))
    return f" ({shown})" if shown else ""


def _missing_judge(run: Run) -> str:
    """Return which scores are missing for want of a judge, and how to name one; empty if none are."""
    missing = [[score.name for score in result.scores if score.reason == NO_JUDGE] for result in run.results]
    names = ", ".join(dict.fromkeys(name for found in missing for name in found))
    number = count(sum(map(bool, missing)), "case")
    return f"{number} without a score of {names}: {NO_JUDGE}." if names else ""


def _lost(unfinished: Run, why: str) -> Run:
    """Return the part of a test whose worker died, with an error."""
    lines = clean(why).splitlines()
    output = Output(error=f"the process that ran it ended: {lines[0] if lines else 'no reason is known'}")
    return replace(unfinished, results=tuple(Result(trial=r.trial, output=output) for r in unfinished.results))
