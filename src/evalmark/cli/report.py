"""`evalmark report`: kept runs as files, and for GitHub; several runs as one, and a gate over them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark import api, merging, report, stats, values, wording
from evalmark import store as kept
from evalmark.errors import ConfigError, EvalmarkError
from evalmark.shell.conduct import refuse_over
from evalmark.shell.terminal import command, complain, say, say_line

from . import flags

if TYPE_CHECKING:
    from evalmark.values import Gate, Run

NOTHING_RAN = 3
SUMMARY_FILE = "GITHUB_STEP_SUMMARY"

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN...",
        help="A run's id, the start of one, `last` or `last~1`; or another file of runs, FILE or FILE@RUN. Several are merged.",
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="github", help="Write a job summary, and annotations to the standard output."),
]
MinPassRate = Annotated[
    float | None, typer.Option("--min-pass-rate", min=0, max=1, help="Gate: the share of trials that pass, 0 to 1.")
]
MinScore = Annotated[
    float | None,
    typer.Option("--min-score", min=0, max=1, help="Gate: the mean of every metric where higher is better, 0 to 1."),
]
MaxUnscored = Annotated[
    int | None, typer.Option("--max-unscored", min=0, max=flags.MOST, help="Gate: trials left without a judgement [0].")
]
MaxErrors = Annotated[
    int | None, typer.Option("--max-errors", min=0, max=flags.MOST, help="Gate: trials that may break [0].")
]


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command("report", short_help="Write reports of runs that are kept, or report to GitHub.")(write_report)


def write_report(  # noqa: PLR0913  each is a flag of the command line
    runs: Runs = None,
    output: flags.Reports = None,
    to: To = None,
    min_pass_rate: MinPassRate = None,
    min_score: MinScore = None,
    max_unscored: MaxUnscored = None,
    max_errors: MaxErrors = None,
    store: flags.Store = None,
) -> None:
    """Write reports of a run that is kept, or of several as one; the ending of each file says which report.

    With one of the gate's flags the exit code is its verdict: 0 it holds, 1 it fails, 3 it cannot tell. Without,
    it is 0, or 3 where no case ran at all.
    """
    _check_asked(to, output)
    gate = _gate(min_pass_rate, min_score, max_unscored, max_errors)
    with ExitStack() as stores:
        parts = [*kept_runs(runs or ["last"], flags.settings(store=store).store, stores)]
        refuse_over(
            [name for run in parts for name in (run.suite, *(info.path for info in run.datasets))], output or []
        )
        run = merging.merged(parts)
        code = _written(run if gate is None else _held_to(run, gate), output or [], to, gated=gate is not None)
    raise typer.Exit(code)


def _check_asked(to: str | None, output: list[Path] | None) -> None:
    """Raises ConfigError where nothing is asked for, or something that nobody knows."""
    endings = " ".join(report.WRITERS)
    check_to(to, endings)
    if not (output or to):
        raise ConfigError("name at least one file with -o, for example -o report.html, or use --to github.")
    for path in output or []:
        report.writer_for(path)


def check_to(to: str | None, endings: str = ".json .md") -> None:
    """Raises ConfigError where `--to` says something that nobody knows."""
    if to not in (None, "github"):
        raise ConfigError(f"--to takes github, not {to!r}; a file says by its ending what it is ({endings}): -o FILE.")


def _held_to(run: "Run", gate: "Gate") -> "Run":
    """The run under another gate; one that stopped once its own was decided is not complete under any other."""
    if run.gate == gate or run.until_decided is None or run.until_decided.outcome is None:
        return replace(run, gate=gate)
    note = "The run stopped early, once its own gate was decided; another one lacks the cases that were not asked."
    return replace(run, gate=gate, until_decided=None, status="interrupted", notes=(*run.notes, note))


def _gate(rate: float | None, score: float | None, unscored: int | None, errors: int | None) -> "Gate | None":
    """The gate that the flags describe, or None where none is given.

    Raises:
        ConfigError: a number is none (`nan`).
    """
    for flag, number in (("--min-pass-rate", rate), ("--min-score", score)):
        if number is not None and not 0 <= number <= 1:
            raise ConfigError(f"{flag} is {number}; it takes a number from 0 to 1, such as 0.9.")
    if rate is score is unscored is errors is None:
        return None
    return values.Gate(min_pass_rate=rate, min_score=score, max_unscored=unscored or 0, max_errors=errors or 0)


def kept_runs(references: list[str], store: str, stores: ExitStack) -> Iterator["Run"]:
    """The runs that are meant, each with what its calls came to."""
    ledgers: dict[str, kept.Store] = {}
    for reference in references:
        path, name = kept_place(reference, store)
        if path not in ledgers:
            ledgers[path] = stores.enter_context(kept.open_store(path, read_only=True))
        run = ledgers[path].run(name)
        # A run that was killed has no figures of its calls in its header; the journal has.
        yield run if run.spending else replace(run, spending=ledgers[path].spending(run.id))


def kept_place(reference: str, store: str) -> tuple[str, str]:
    """The file of runs that is meant, and the run in it.

    Raises:
        ConfigError: what looks like a file is not there.
    """
    path, at, name = reference.rpartition("@")
    if Path(reference).is_file():
        return reference, "last"
    if at and Path(path).is_file():
        return path, name or "last"
    for file in filter(None, (reference, path)):
        if Path(file).name != file or file.endswith(".db"):
            raise ConfigError(
                f"{file}: there is no such file of runs. Name one as FILE or FILE@RUN, or a run by its id."
            )
    return store, reference


def _written(run: "Run", output: list[Path], to: str | None, *, gated: bool) -> int:
    """Write all that is asked for, and give the exit code."""
    summary = stats.summarise(run, worst=report.LISTED if to else 20)
    verdict = stats.judge(summary, run.gate)
    for path in output:
        api.save(run, path, summary)
        say_line(f"{path}: {len(run.results)} results of {run.id}")
    if to:
        _report_to_github(run, summary)
    if not summary.trials:
        complain("No cases ran, so there is nothing to report.\n")
    if gated:
        say_line(f"Gate {wording.outcome(verdict)}: {' '.join(verdict.reasons)}")
        return verdict.exit_code
    return 0 if summary.trials else NOTHING_RAN


def _report_to_github(run: "Run", summary: "stats.Summary") -> None:
    """The summary to the file that GitHub names, then the annotations."""
    write_job_summary(lambda room: report.as_github(run, summary, room=room))
    for line in report.annotations(run, summary):
        command(line)


def write_job_summary(written: "Callable[[int], Iterable[str]]") -> None:
    """A summary within so many bytes, to the file that GitHub names, or to the standard output where it names none."""
    name = environ.get(SUMMARY_FILE)
    if name:
        _append(Path(name), written)
    else:
        say("".join(written(report.LIMIT)))


def _append(path: Path, written: "Callable[[int], Iterable[str]]") -> None:
    """What a step has written there already stays, and counts against the room.

    Raises:
        EvalmarkError: the file cannot be written.
    """
    try:
        before = b"\n" if path.exists() and path.stat().st_size else b""
        room = report.LIMIT - (path.stat().st_size + len(before) if before else 0)
        text = "".join(written(room)).encode(errors="backslashreplace")
        if not text:
            complain(f"{path}: full, so the job summary is left out; write it in a step of its own.\n")
            return
        with path.open("ab") as stream:
            stream.write(before + text)
    except OSError as error:
        said = f"{path}: the job summary cannot be written there: {error.strerror or error}."
        raise EvalmarkError(f"{said} Unset {SUMMARY_FILE} to have it printed.") from None
