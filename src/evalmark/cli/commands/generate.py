"""`evalmark generate`: generate rules and tests from a prompt, in editable files."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.exit_codes import INCONCLUSIVE, INTERRUPTED
from evalmark.cli.terminal.output import print_error, print_line, print_store_note, terminal_style
from evalmark.core.errors import ConfigError, RunStoppedError
from evalmark.core.lazy import need
from evalmark.prompts.generation.coverage import read_coverage
from evalmark.prompts.generation.effort import effort_named
from evalmark.prompts.generation.stages import stage_named
from evalmark.reports.terminal.generation import (
    broken_text,
    count_text,
    coverage_text,
    notes_text,
    spending_text,
    step_text,
)
from evalmark.runs.execution.generation import GenerateJob, broken_rules, estimate_test_calls, generate_tests
from evalmark.storage.store.location import store_exists
from evalmark.storage.store.store import open_store

from . import flags

if TYPE_CHECKING:
    from evalmark.core.settings import Settings

Prompt = Annotated[Path, typer.Argument(metavar="FILE", help="A prompt: .prompty, .md or .prompt.yml.")]
EffortName = Annotated[str, typer.Option("--effort", metavar="min|low|medium|high", help="How many tests to generate.")]
TestsPerRule = Annotated[
    int | None, typer.Option("--tests-per-rule", metavar="N", help="Tests per rule in each generation [default: 3].")
]
Generations = Annotated[
    int | None,
    typer.Option(
        "--generations",
        metavar="N",
        help="Rounds of generation; later rounds show the model the earlier tests [default: 1].",
    ),
]
Expansions = Annotated[
    int | None, typer.Option("--expansions", metavar="N", help="How often to lengthen each test [default: 0].")
]
MaxRules = Annotated[
    int | None,
    typer.Option(
        "--max-rules", metavar="N", help="Generate tests only for the first N rules and inverse rules [default: 20]."
    ),
]
PerCall = Annotated[
    int | None, typer.Option("--max-rules-per-call", metavar="N", help="Rules per model call [default: 5].")
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="PROVIDER/MODEL", help="The model of all stages."),
]
ModelFor = Annotated[
    list[str] | None,
    typer.Option("--model-for", metavar="STAGE=PROVIDER/MODEL", help="Another model for one stage. Repeatable."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed sent with every model request.")]
Redo = Annotated[str | None, typer.Option("--redo", metavar="STAGE", help="Repeat this stage and all later stages.")]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", metavar="N", help="Concurrent model calls [default: 10].")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the number of model calls; send nothing.")]
Report = Annotated[bool, typer.Option("--report", help="Print which rules have tests; send nothing.")]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        "generate",
        epilog=flags.exit_codes(
            {
                0: "all files are written",
                2: "usage error, or an invalid file, setting or model",
                3: "a budget is spent; finished files stay",
                130: "interrupted; finished files stay",
            }
        ),
    )(generate_files)


def generate_files(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    file: Prompt,
    effort: EffortName = "medium",
    tests_per_rule: TestsPerRule = None,
    generations: Generations = None,
    expansions: Expansions = None,
    max_rules: MaxRules = None,
    max_rules_per_call: PerCall = None,
    model: Model = None,
    model_for: ModelFor = None,
    seed: Seed = None,
    redo: Redo = None,
    dry_run: DryRun = False,
    report: Report = False,
    replay: flags.Replay = None,
    max_cost: flags.MaxCost = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    jobs: Jobs = None,
    env_file: flags.EnvFile = None,
    store: flags.Store = None,
    quiet: flags.Quiet = False,
) -> None:
    """Generate the intent, input specification, rules, inverse rules and tests of a prompt, in files beside it.

    A file that is not empty is used unchanged: edit it and run the command again to generate the files after it.
    """
    settings = flags.settings(**flags.settings_given(context))
    if report:
        _report(file, settings)
        return
    job = GenerateJob(
        prompt=file,
        effort=effort_named(
            effort,
            tests_per_rule=tests_per_rule,
            generations=generations,
            expansions=expansions,
            max_rules=max_rules,
            max_rules_per_call=max_rules_per_call,
        ),
        model=model,
        model_for=_models(model_for or ()),
        seed=seed,
        redo=None if redo is None else stage_named(redo),
        on_step=None if quiet else lambda step: print_line(step_text(step)),
    )
    if dry_run:
        say_line_by_line(count_text(need("asyncio").run(estimate_test_calls(job, settings))))
    else:
        _carry_out(job, settings, quiet)


def _report(file: Path, settings: "Settings") -> None:
    coverage = read_coverage(file)
    say_line_by_line(coverage_text(coverage, terminal_style().width))
    if store_exists(settings.store):
        with open_store(settings.store, read_only=True) as run_store:
            broken = broken_rules(file, run_store)
        if broken is not None:
            say_line_by_line(f"\n{broken_text(coverage, broken)}")


def _carry_out(job: "GenerateJob", settings: "Settings", quiet: bool) -> None:
    with open_store(settings.store, notes=print_store_note) as run_store:
        try:
            account, spent = need("asyncio").run(generate_tests(job, settings, run_store.call_log()))
        except RunStoppedError as stopped:
            print_error(f"Stopped: {stopped}\nFinished files and replies are stored; resume with the same command.\n")
            raise typer.Exit(INCONCLUSIVE) from None
        except KeyboardInterrupt:
            print_error("\nInterrupted. Finished files and replies are stored; resume with the same command.\n")
            raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        coverage = read_coverage(job.prompt)
        notes = notes_text(account)
        for text in (notes, f"\n{coverage_text(coverage, terminal_style().width)}\n", spending_text(spent)):
            say_line_by_line(text)


def say_line_by_line(text: str) -> None:
    """Print each line separately, with control characters removed."""
    for line in text.split("\n") if text else ():
        print_line(line)


def _models(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `STAGE=PROVIDER/MODEL` flags into a mapping."""
    models: dict[str, str] = {}
    for pair in pairs:
        stage, equals, model = pair.partition("=")
        if not (equals and model.strip()):
            raise ConfigError(f"--model-for {pair}: write it as stage=provider/model, such as rules=openai/NAME.")
        name = stage_named(stage, "--model-for").name
        if name in models:
            raise ConfigError(f"--model-for: the stage {name} is named twice; leave one out.")
        models[name] = model.strip()
    return models
