"""`evalmark report`: write reports of stored runs, merge several runs, and apply a gate."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from os import environ
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.command_line import refuse_overwriting
from evalmark.cli.terminal.exit_codes import INCONCLUSIVE
from evalmark.cli.terminal.output import (
    print_document,
    print_error,
    print_line,
    print_store_note,
    print_workflow_command,
    write_job_summary,
)
from evalmark.cli.terminal.run_references import find_runs, run_location, with_store_flag
from evalmark.core.errors import ConfigError, StoreError
from evalmark.core.lazy import LazyModule
from evalmark.core.values.run import Gate
from evalmark.inputs.documents.top_keys import top_keys
from evalmark.inputs.suites.reader import read_suite
from evalmark.reports.files.github import LISTED, annotations, as_github, workflow_command
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.writers import KINDS, save, writer_for
from evalmark.reports.text.verdicts import gate_outcome
from evalmark.runs.execution.baseline import Baseline as ChosenBaseline
from evalmark.runs.execution.baseline import baseline_of, baseline_of_suite
from evalmark.stats.comparison.compare import compare
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import Summary
from evalmark.storage.merging.merged_run import merge_runs
from evalmark.storage.merging.missing import MISSING_PREFIX, lone_shard
from evalmark.storage.store.store import Store, open_store

from . import flags

if TYPE_CHECKING:
    from evalmark.core.values.run import Run
    from evalmark.inputs.secrets import masks
    from evalmark.interop import review_comments
    from evalmark.interop.review_comments import Host, ReviewPage
    from evalmark.reports.files import review_comment
else:
    masks = LazyModule("evalmark.inputs.secrets.masks")
    review_comment = LazyModule("evalmark.reports.files.review_comment")
    review_comments = LazyModule("evalmark.interop.review_comments")

GITHUB = "github"
COMMENTS: Mapping[str, "Host"] = MappingProxyType({"github-comment": "github", "gitlab-comment": "gitlab"})
"""The formats that are a comment, and the host that it is for."""

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, the start of one, `last`, `last~1`, or another store as FILE or FILE@RUN. Several runs are merged.",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="github|html|json|...",
        help="github: write a job summary and annotations. github-comment, gitlab-comment: print the text of a comment. "
        "Otherwise the format of files without a known extension, or of the standard output.",
    ),
]
Post = Annotated[
    bool,
    typer.Option(
        "--post",
        help="With --to github-comment or gitlab-comment: post the comment on the pull request of this CI job, or update the one "
        "posted before. Needs GITHUB_TOKEN or GITLAB_TOKEN.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        help="Compare with an earlier run: an id, last~1, last-green, FILE@RUN, or none [that of the suite].",
    ),
]
MinPassRate = Annotated[
    float | None,
    typer.Option("--min-pass-rate", metavar="0..1", min=0, max=1, help="Gate: minimum share of trials that pass."),
]
MinScore = Annotated[
    float | None,
    typer.Option(
        "--min-score", metavar="0..1", min=0, max=1, help="Gate: minimum mean of every metric where higher is better."
    ),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        "report",
        epilog=flags.exit_codes(
            {
                0: "the reports are written, and the gate of the flags passes",
                1: "the gate of the flags fails",
                2: "usage error, or an invalid file, run or store",
                3: "no case ran, or the gate cannot tell",
            }
        ),
    )(write_report)


def write_report(  # noqa: PLR0913  each is a flag of the command line
    runs: Runs = None,
    output: flags.Reports = None,
    to: To = None,
    post: Post = False,
    baseline: Baseline = None,
    min_pass_rate: MinPassRate = None,
    min_score: MinScore = None,
    max_unscored: flags.MaxUnscored = None,
    max_errors: flags.MaxErrors = None,
    store: flags.Store = None,
) -> None:
    """Write reports of a stored run, or of several runs merged into one; file extensions select the formats.

    Gate flags such as --min-pass-rate replace the gate of the run. Without them, the run's gate does not change the exit code.

    For example: evalmark report last -o report.html --baseline last~1
    """
    _check_formats(to, output)
    page = _review_page(to, post=post)
    gate = _gate(min_pass_rate, min_score, max_unscored, max_errors)
    with ExitStack() as stores:
        parts = [*find_runs(runs or ["last"], flags.settings(store=store).store, stores)]
        refuse_overwriting(
            [name for run in parts for name in (run.suite, *(info.path for info in run.datasets))], output or []
        )
        run = merge_runs(parts)
        run = run if gate is None else _with_gate(run, gate)
        default = flags.settings(store=store).store
        if baseline is None and len(parts) == 1:
            options = _suite_comparison_options(run, default, stores)
        else:
            options = _comparison_options(run, baseline, default, stores)
        summary = summarise(run, worst=LISTED if to == GITHUB else 20)
        _write(run, summary, options, output or [], to, is_printed=_is_printed(to, output, post=post))
        if (host := COMMENTS.get(to or "")) is not None:
            _comment(run, summary, options, host, page, post=post)
    is_printed = _is_printed(to, output, post=post)
    raise typer.Exit(_code(run, summary, gated=gate is not None, is_printed=is_printed))


def _check_formats(to: str | None, output: list[Path] | None) -> None:
    """Raise ConfigError if no report is requested, or one of an unknown format."""
    if to not in (None, GITHUB, *COMMENTS, *KINDS):
        raise ConfigError(f"--to takes {', '.join((GITHUB, *COMMENTS, *KINDS))}, not {to!r}.")
    if not (output or to):
        raise ConfigError("name at least one file with -o, for example -o report.html, or use --to github.")
    for path in output or []:
        writer_for(path, _kind(to))


def _kind(to: str | None) -> str | None:
    return None if to == GITHUB or to in COMMENTS else to


def _is_printed(to: str | None, output: list[Path] | None, *, post: bool) -> bool:
    """Return whether the report goes to the standard output, which then gets nothing else."""
    return not post if to in COMMENTS else to not in (None, GITHUB) and not output


def _review_page(to: str | None, *, post: bool) -> "ReviewPage | None":
    """Return where the comment goes; None without --post, or where the CI job runs for no pull request."""
    if not post:
        return None
    host = COMMENTS.get(to or "")
    if host is None:
        raise ConfigError(f"--post goes with --to {' or --to '.join(COMMENTS)}.")
    return review_comments.find_review_page(host, environ)


def _comment(
    run: "Run", summary: "Summary", options: "ReportOptions", host: "Host", page: "ReviewPage | None", *, post: bool
) -> None:
    """Print the comment, or write it to the pull request; a host that refuses it does not change the exit code."""
    text = review_comment.as_review_comment(run, summary, options, link=review_comments.job_link(host, environ))
    if not post:
        print_document(text)
        return
    if page is None:
        print_error("This job runs for no pull request or merge request, so no comment is written.\n")
        return
    try:
        done = review_comments.post_review_comment(page, masks.mask_secrets("".join(text)))
        print_line(f"The comment on {host} {page.number} was {done}.")
    except review_comments.ReviewCommentError as error:
        print_error(f"The comment on {host} {page.number} was not written: {error}\n")
        if host == GITHUB:
            print_workflow_command(
                workflow_command("warning", {"title": "evalmark"}, [f"No comment was written: {error}"])
            )


def _suite_comparison_options(run: "Run", store: str, stores: ExitStack) -> "ReportOptions":
    """Compare the run with the baseline that its suite names, as `evalmark run` did; a missing one is only reported."""
    reference = _baseline_in_suite(run)
    if reference is None:
        return ReportOptions()
    try:
        return _comparison_options(run, reference, store, stores, choose=baseline_of_suite)
    except (ConfigError, StoreError) as error:
        print_error(f"{run.suite} names the baseline {reference}, which cannot be compared with: {error}\n")
        return ReportOptions()


def _baseline_in_suite(run: "Run") -> str | None:
    """Return the baseline that the suite file of a run names; None without one, or if the file is gone or no suite."""
    try:
        is_named = bool(run.suite) and run.shard is None and "baseline" in top_keys(Path(run.suite))
        return read_suite(Path(run.suite)).baseline if is_named else None
    except ConfigError:
        return None


def _comparison_options(
    run: "Run",
    reference: str | None,
    store: str,
    stores: ExitStack,
    choose: Callable[["Store", str, "Run"], ChosenBaseline] = baseline_of,
) -> "ReportOptions":
    """Compare the run with an earlier one, maybe of another store, or report why there is none."""
    if reference is None:
        return ReportOptions()
    path, name = run_location(reference, store)
    chosen = choose(stores.enter_context(open_store(path, read_only=True, notes=print_store_note)), name, run)
    if chosen.reason:
        print_error(f"{chosen.reason}\n")
    if chosen.run is None:
        return ReportOptions()
    if chosen.run.id == run.id:
        print_error(f"The baseline {run.id} is the run itself, so there is nothing to compare it with.\n")
        return ReportOptions()
    return ReportOptions(comparison=with_store_flag(compare(run, chosen.run), path), baseline=chosen.run)


def _with_gate(run: "Run", gate: "Gate") -> "Run":
    """Replace the gate; a run that stopped when its own gate was decided is incomplete under another one."""
    run = run if run.shard is None else lone_shard(run)  # its own gate waits for all shards; this one judges now
    if run.gate == gate or run.until_decided is None or run.until_decided.outcome is None:
        return replace(run, gate=gate)
    note = (
        "The run stopped early when its own gate was decided; the cases that did not run are missing for another gate."
    )
    return replace(run, gate=gate, until_decided=None, status="interrupted", notes=(*run.notes, note))


def _gate(rate: float | None, score: float | None, unscored: int | None, errors: int | None) -> "Gate | None":
    """Return the gate of the flags, or None without any."""
    for flag, number in (("--min-pass-rate", rate), ("--min-score", score)):
        if number is not None and not 0 <= number <= 1:
            raise ConfigError(f"{flag} is {number}; it takes a number from 0 to 1, such as 0.9.")
    if rate is score is unscored is errors is None:
        return None
    return Gate(min_pass_rate=rate, min_score=score, max_unscored=unscored or 0, max_errors=errors or 0)


def _write(
    run: "Run", summary: "Summary", options: "ReportOptions", output: list[Path], to: str | None, *, is_printed: bool
) -> None:
    for path in output:
        save(run, path, summary, options, _kind(to))
        line = f"{path}: {len(run.results)} results of {run.id}"
        print_error(f"{line}\n") if is_printed else print_line(line)
    if to == GITHUB:
        _report_to_github(run, summary)
    elif is_printed and to not in COMMENTS:
        print_document(KINDS[str(to)](run, summary, options))


def _code(run: "Run", summary: "Summary", *, gated: bool, is_printed: bool) -> int:
    """Return the exit code; print the verdict of the flags' gate, and whether no case ran."""
    if not summary.trials:
        print_error("No cases ran, so there is nothing to report.\n")
    if not gated:
        return 0 if summary.trials else INCONCLUSIVE
    verdict = apply_gate(summary, run.gate)
    lost = (note for note in run.notes if note.startswith(MISSING_PREFIX))
    outcome = f"Gate {gate_outcome(verdict)}: {' '.join((*verdict.reasons, *lost))}"
    if is_printed:
        print_error(f"{outcome}\n")
    else:
        print_line(outcome)
    return verdict.exit_code


def _report_to_github(run: "Run", summary: "Summary") -> None:
    """Write the job summary to the file that GitHub names, then print the annotations."""
    write_job_summary(lambda budget: as_github(run, summary, budget=budget))
    for line in annotations(run, summary):
        print_workflow_command(line)
