"""`evalmark generate`: rules and tests out of a prompt, in files that people edit."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.output import output_look, print_error, print_line
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

INTERRUPTED = 130
STOPPED = 3
Prompt = Annotated[Path, typer.Argument(metavar="FILE", help="A prompt: .prompty, .md or .prompt.yml.")]
EffortName = Annotated[
    str, typer.Option("--effort", metavar="min|low|medium|high", help="How many tests, and in how many calls.")
]
TestsPerRule = Annotated[
    int | None, typer.Option("--tests-per-rule", metavar="N", help="Tests for each rule in each generation [3].")
]
Generations = Annotated[
    int | None,
    typer.Option("--generations", metavar="N", help="How often tests are asked for, seeing the earlier [1]."),
]
Expansions = Annotated[
    int | None, typer.Option("--expansions", metavar="N", help="How often each test is made longer [0].")
]
MaxRules = Annotated[
    int | None,
    typer.Option("--max-rules", metavar="N", help="Tests only for the first N rules and inverse rules [20]."),
]
PerCall = Annotated[
    int | None, typer.Option("--max-rules-per-call", metavar="N", help="Rules that are shown at a time [5].")
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="PROVIDER/MODEL", help="The model that writes and judges, in all stages."),
]
ModelFor = Annotated[
    list[str] | None,
    typer.Option("--model-for", metavar="STAGE=PROVIDER/MODEL", help="Another model for one stage. Repeatable."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Handed to the models with every question.")]
Redo = Annotated[str | None, typer.Option("--redo", metavar="STAGE", help="Make this stage and all after it anew.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say how many calls there would be; nothing is sent.")]
Report = Annotated[bool, typer.Option("--report", help="Only say which rules have tests; nothing is sent.")]


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command("generate")(generate_files)


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
    jobs: flags.Jobs = None,
    store: flags.Store = None,
    quiet: flags.Quiet = False,
) -> None:
    """Make intent, input specification, rules, inverse rules and tests of a prompt, each a file in a folder beside it.

    A file with something in it is used as it is, so edit one and run again. Exit code 0: all files are
    there. 2: a file, a flag or a model cannot be used. 3: a budget is used up.
    130: interrupted. What was made before stays.
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
        told=None if quiet else lambda step: print_line(step_text(step)),
    )
    if dry_run:
        say_line_by_line(count_text(need("asyncio").run(estimate_test_calls(job, settings))))
    else:
        _carry_out(job, settings, quiet)


def _report(file: Path, settings: "Settings") -> None:
    found = read_coverage(file)
    say_line_by_line(coverage_text(found, output_look().width))
    if store_exists(settings.store):
        with open_store(settings.store, read_only=True) as ledger:
            broken = broken_rules(file, ledger)
        if broken is not None:
            say_line_by_line(f"\n{broken_text(found, broken)}")


def _carry_out(job: "GenerateJob", settings: "Settings", quiet: bool) -> None:
    with open_store(settings.store) as ledger:
        try:
            account, spent = need("asyncio").run(generate_tests(job, settings, ledger.call_log()))
        except RunStoppedError as stopped:
            print_error(
                f"Stopped: {stopped}\nWhat was made stays, and so does every reply; go on with the same command.\n"
            )
            raise typer.Exit(STOPPED) from None
        except KeyboardInterrupt:
            print_error("\nInterrupted; what was made stays, and so does every reply. Go on with the same command.\n")
            raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        found = read_coverage(job.prompt)
        notes = notes_text(account)
        for text in (notes, f"\n{coverage_text(found, output_look().width)}\n", spending_text(spent)):
            say_line_by_line(text)


def say_line_by_line(text: str) -> None:
    """Print lines of which each is cleaned by itself, so that a name in one acts on nothing."""
    for line in text.split("\n") if text else ():
        print_line(line)


def _models(said: Iterable[str]) -> dict[str, str]:
    """The models of single stages.

    Raises:
        ConfigError: one is not written as a stage, `=` and a model, or names no stage, or one twice.
    """
    found: dict[str, str] = {}
    for word in said:
        stage, equals, model = word.partition("=")
        if not (equals and model.strip()):
            raise ConfigError(f"--model-for {word}: write it as stage=provider/model, such as rules=openai/NAME.")
        name = stage_named(stage, "--model-for").name
        if name in found:
            raise ConfigError(f"--model-for: the stage {name} is named twice; leave one out.")
        found[name] = model.strip()
    return found
