"""`evalmark init` and `schema`: an example to start from, and the JSON Schemas of files."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from evalmark.cli.terminal.output import print_document, print_text, terminal_style
from evalmark.core.errors import ConfigError
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.reports.terminal import console

Kind = Literal["plain", "rag", "agent", "prompt"]
SchemaName = Literal["suite", "cases", "run", "line", "comparison"]
SCHEMA_FILES: Mapping[SchemaName, str] = {
    "suite": "inputs/suites/suite.schema.json",
    "cases": "inputs/datasets/cases.schema.json",
    "run": "reports/files/schemas/run.schema.json",
    "line": "reports/files/schemas/line.schema.json",
    "comparison": "reports/files/schemas/comparison.schema.json",
}
"""The files of the package with the schemas."""
EDITED: tuple[SchemaName, ...] = ("suite", "cases")
"""The schemas of files that users write, to which the first line of a template points."""
SCHEMA_FOLDER = ".schemas"
TEMPLATE_ENDING = ".tmpl"
"""The further ending of a template in Python, which keeps it from being imported as a part of evalmark."""
WORKFLOW = Path(".github", "workflows", "evalmark.yml")
SAME_FOLDER = "working-directory: ."
"""The line of the workflow that names the folder of the suite."""
ROLES: Mapping[str, str] = {
    "evalmark.yaml": "the suite: cases, target, metrics and gate",
    "cases.yaml": "ten cases",
    "bot.py": "the system under test",
    "rag.py": "the system under test",
    "agent.py": "the system under test",
    "sort.prompty": "the prompt under test",
    "test_bot.py": "the same cases in pytest",
    "test_rag.py": "the same cases in pytest",
    "test_agent.py": "the same cases in pytest",
}
MIN_EXPLANATION = 36
"""The fewest columns beside a file or command, margins included, for what it is for."""
COMPARE = "evalmark run --baseline last"
NEXT: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    "plain": (
        ("evalmark run", "score the ten cases"),
        ("evalmark view", "look at every output in a browser"),
        (COMPARE, "after changing full to short in bot.py: the run is worse"),
    ),
    "rag": (
        ("evalmark run", "score the ten cases"),
        ("evalmark view", "look at every output and its passages in a browser"),
        (COMPARE, "after changing 3 to 1 in rag.py: the run is worse"),
    ),
    "agent": (
        ("evalmark run", "score the ten cases"),
        ("evalmark view", "look at every output and its steps in a browser"),
        (COMPARE, "after changing 3 to 1 in agent.py: the run is worse"),
    ),
    "prompt": (
        ("export OPENAI_API_KEY=...", "or the key of another provider, see evalmark.yaml"),
        ("evalmark run --model openai/NAME --model openai/OTHER", "the outputs of two models side by side"),
        ("evalmark view", "look at every output in a browser"),
    ),
}
"""The next commands for each kind of example, with what they are for."""


def add(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command()(init)
    app.command()(schema)


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write [default: the current folder].", show_default=False)
    ] = Path(),
    rag: Annotated[bool, typer.Option("--rag", help="Write an example of retrieval-augmented generation.")] = False,
    agent: Annotated[bool, typer.Option("--agent", help="Write an example of an agent with tools.")] = False,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Write an example of a prompt for one model or several.")
    ] = False,
    ci: Annotated[
        str | None, typer.Option("--ci", metavar="github", help="Also write a workflow that runs the suite.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Write an example to start from: a suite, ten cases, a target and a test, which run without a key.

    The example of --prompt needs a model. Existing files are not overwritten without --force.
    """
    chosen = [name for name, given in (("rag", rag), ("agent", agent), ("prompt", prompt)) if given]
    if len(chosen) > 1:
        raise ConfigError(f"--{chosen[0]} and --{chosen[1]} write the same suite; choose one of them.")
    if ci not in (None, "github"):
        raise ConfigError(f"--ci takes github, not {ci!r}.")
    kind: Kind = next((name for name in get_args(Kind) if name in chosen), "plain")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: is a file; name a folder.")
    contents = dict(_example(kind, folder))
    if ci is not None:
        contents |= _workflow(folder)
    existing = [str(path) for path in contents if path.exists()]
    if existing and not force:
        verb = "exists" if len(existing) == 1 else "exist"
        raise ConfigError(f"{', '.join(existing)} {verb} already; name another folder, or overwrite with --force.")
    for path, text in (contents | _schemas(folder)).items():
        write_atomically(path, [text])
    _print_result(folder, [*contents], kind)


def schema(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"{', '.join(get_args(SchemaName))} [default: suite].", show_default=False),
    ] = "suite",
) -> None:
    """Print the JSON Schema of a file that evalmark reads or writes, for editors and validators.

    suite and cases are files that you write; run and line are the reports .json and .jsonl of a run, comparison is the report
    .json of `evalmark compare`.
    """
    known = next((one for one in get_args(SchemaName) if one == name), None)
    if known is None:
        raise ConfigError(f"There is no schema {name!r}; there are {', '.join(get_args(SchemaName))}.")
    print_document([schema_text(known)])


def schema_text(name: SchemaName) -> str:
    """Return a JSON Schema of the package as text."""
    return files("evalmark").joinpath(SCHEMA_FILES[name]).read_text(encoding="utf-8")


def _example(kind: Kind, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of an example with their contents."""
    for template in sorted(_templates(kind).iterdir(), key=lambda one: [*ROLES].index(_name(one.name))):
        yield folder / _name(template.name), template.read_text(encoding="utf-8")


def _name(template: str) -> str:
    return template.removesuffix(TEMPLATE_ENDING)


def _templates(name: str) -> Traversable:
    return files("evalmark.cli").joinpath("templates", name)


def _workflow(folder: Path) -> dict[Path, str]:
    """Return the workflow at the root of the repository, since GitHub finds it nowhere else."""
    text = _templates("github").joinpath("evalmark.yml").read_text(encoding="utf-8")
    real = folder.resolve()
    root = next((place for place in (real, *real.parents) if (place / ".git").exists()), real)
    if root == real:
        return {folder / WORKFLOW: text}
    return {root / WORKFLOW: text.replace(SAME_FOLDER, f"working-directory: {real.relative_to(root).as_posix()}")}


def _schemas(folder: Path) -> dict[Path, str]:
    return {folder / SCHEMA_FOLDER / Path(SCHEMA_FILES[name]).name: schema_text(name) for name in EDITED}


def _print_result(folder: Path, written: Sequence[Path], kind: Kind) -> None:
    """Print the files with what they are for, then the next three commands."""
    file_rows = [(str(path), ROLES.get(path.name, "the workflow that runs the suite in CI")) for path in written]
    file_rows.append((f"{folder / SCHEMA_FOLDER}", "JSON Schemas, for completion in editors"))
    enter = [] if folder.resolve() == Path.cwd() else [(f"cd {shlex.quote(str(folder))}", "")]
    parts: list[RenderableType] = []
    for heading, rows in (("Written", file_rows), ("Next", [*enter, *NEXT[kind]])):
        parts += [*([Text("")] if parts else []), Text(heading, style="bold"), console.indented(_table(rows))]
    print_text(console.render(parts, terminal_style()))


def _table(rows: Sequence[tuple[str, str]]) -> RenderableType:
    """Return files or commands with what they are for: beside them, or below them on narrow terminals."""
    width = max(len(first) for first, _ in rows)
    if terminal_style().width >= width + MIN_EXPLANATION:
        return console.FieldList(rows, gap=3, style="")
    parts: list[RenderableType] = []
    for first, second in rows:
        parts += [Text(first), *([console.indented(Text(second, style="dim"))] if second else [])]
    return Group(*parts)
