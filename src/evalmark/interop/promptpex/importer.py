"""Import a folder of PromptPex results as one run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from evalmark.core.text import count
from evalmark.core.values.run import DatasetInfo, Run
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import path_kind
from evalmark.inputs.documents.text import read_text
from evalmark.interop.shared.folders import file_in
from evalmark.interop.shared.import_result import ImportedPart, ImportResult
from evalmark.interop.shared.tables import RawRow, read_rows
from evalmark.prompts.specs.statement_files import is_check

from .trials import FolderTables, trials_of

Notes = Callable[[str], None]

RESULTS = "test_results"
TABLES: Mapping[str, tuple[str, ...]] = {
    RESULTS: ("id", "model", "input", "output"),
    "tests": ("testinput",),
    "test_evals": ("id",),
    "rule_evals": ("ruleid",),
}
"""The tables that are read, and their required columns."""
COLUMN_OUTCOMES = (
    ImportedPart(name="input, output", outcome="kept", to="the input of each case, and what each model answered"),
    ImportedPart(name="model", outcome="kept", to="the target"),
    ImportedPart(
        name="compliance, complianceText", outcome="kept", to="the score `compliance`: passed or not, and its reason"
    ),
    ImportedPart(name="metrics", outcome="kept", to="a score each, from 0 to 100"),
    ImportedPart(name="error", outcome="kept", to="the error of the output"),
    ImportedPart(
        name="ruleid, rule, inverse, baseline", outcome="kept", to="the tags `positive`, `negative`, `baseline`"
    ),
    ImportedPart(name="groundtruth", outcome="kept", to="the expected answer"),
    ImportedPart(
        name="promptid, ruleid, rule, inverse, scenario, baseline", outcome="kept", to="in the metadata of each case"
    ),
    ImportedPart(name="tests: testid, expectedoutput, reasoning", outcome="kept", to="in the metadata of each case"),
    ImportedPart(
        name="test_evals: validity, validityText",
        outcome="kept",
        to="`valid`, `valid_reason` in the metadata of each case",
    ),
    ImportedPart(
        name="test_evals: coverage, coverageEvalText, coverageText",
        outcome="kept",
        to="`agreement`, `agreement_reason`, `agreement_output` in the metadata of each case",
    ),
    ImportedPart(
        name="rule_evals: grounded, groundedText",
        outcome="kept",
        to="`grounded`, `grounded_reason` in the metadata of each case",
    ),
)
RULES = "which rules are positive and which negative, where no row says it"
LEFT_OUT = {
    "overview.csv": "its figures are computed from the rows themselves: evalmark show --overview",
    "report.json": "it repeats the tables",
    "baseline_tests.txt": "it repeats the inputs of the baseline tests",
    "intent.txt": "it is about the prompt, and no result",
    "input_spec.txt": "it is about the prompt, and no result",
}


def read_promptpex(folder: Path | str) -> Run:
    """Import a folder of PromptPex results as one run, with anomalies in its notes.

    Tests of rules are cases of a dataset named after the folder; baseline tests have their own dataset. The id of a
    case is the published one with the number of its rule, since one input may test several rules.

    Raises:
        DataError: the folder has no results, or they are invalid.
    """
    run = import_promptpex(folder).run
    assert run is not None  # noqa: S101  the importer gives one or raises
    return run


def import_promptpex(folder: Path | str) -> ImportResult:
    """Do the same as `read_promptpex`, and return the outcome of each part too."""
    folder = Path(folder)
    tables = _read(folder)
    folder_tables = FolderTables(
        name=folder.resolve().name,
        tests=tables.tables["tests"],
        verdicts=tables.tables["test_evals"],
        groundings=tables.tables["rule_evals"],
        rules=_lines(folder, "rules.txt"),
        inverse_rules=_lines(folder, "inverse_rules.txt"),
    )
    trials = trials_of(tables.tables[RESULTS], folder_tables, tables.notes.append)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    run = Run(
        id=folder_tables.name,
        name=folder_tables.name,
        created=now,
        finished=now,
        target=", ".join(trials.targets),
        datasets=tuple(
            DatasetInfo(name=name, path=str(folder), rows=rows) for name, rows in trials.sizes.items() if rows
        ),
        metrics=trials.metrics,
        repeat=trials.repeats,
        notes=(f"Imported from results of PromptPex in {folder}.", *tables.notes),
        results=trials.results,
    )
    return ImportResult(run=run, parts=(*tables.parts, *_column_outcomes(tables)), remarks=tuple(tables.notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    """The tables of a folder, with outcomes and notes."""

    tables: dict[str, Sequence[RawRow]] = field(default_factory=dict)
    parts: list[ImportedPart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _read(folder: Path) -> _Folder:
    """Read all tables of a folder; missing ones have no rows.

    Raises:
        DataError: the folder has no results.
    """
    content = _Folder()
    for name, needed in TABLES.items():
        files = [path for ending in (".json", ".csv") if (path := file_in(folder, f"{name}{ending}"))]
        if not files and name == RESULTS:
            raise _no_results_error(folder)
        content.tables[name] = read_rows(files[0], needed, content.notes.append) if files else ()
        content.parts.extend(
            [ImportedPart(name=path.name, outcome="kept", to=_rows(content.tables[name])) for path in files[:1]]
        )
        content.parts.extend(
            [ImportedPart(name=path.name, outcome="left out", to=f"{files[0].name} is read") for path in files[1:]]
        )
    others = [ImportedPart(name=name, outcome="kept", to=RULES) for name in ("rules.txt", "inverse_rules.txt")]
    others += [ImportedPart(name=name, outcome="left out", to=why) for name, why in LEFT_OUT.items()]
    content.parts.extend(part for part in others if file_in(folder, part.name))
    return content


def _no_results_error(folder: Path) -> PlacedError:
    if path_kind(folder) != "folder":
        return PlacedError(str(folder), "there is no such folder; name one in which PromptPex has written its results.")
    below = sorted(path.parent.name for ending in (".csv", ".json") for path in folder.glob(f"*/{RESULTS}{ending}"))
    advice = f"; name one of the folders in it: {', '.join(below[:5])}" if below else "; name the folder that has them"
    return PlacedError(str(folder), f"there is no {RESULTS}.csv or {RESULTS}.json here{advice}.")


def _rows(rows: Sequence[RawRow]) -> str:
    return count(len(rows), "row")


def _column_outcomes(content: _Folder) -> Iterable[ImportedPart]:
    """Yield the outcomes of the columns that exist."""
    columns = {name: {column for row in rows for column in row.cells} for name, rows in content.tables.items()}
    for part in COLUMN_OUTCOMES:
        table, _, names = part.name.rpartition(": ")
        columns_read = columns[table] if table else columns[RESULTS] | columns["tests"]
        if existing := [name for name in names.split(", ") if name in columns_read]:
            label = f"{table}: " if table else ""
            yield ImportedPart(name=label + ", ".join(existing), outcome=part.outcome, to=part.to)


def _lines(folder: Path, name: str) -> tuple[str, ...]:
    """Read the statements of a text file, one a line; empty if there is no such file."""
    path = file_in(folder, name)
    lines = () if path is None else map(str.strip, read_text(path).splitlines())
    return tuple(line for line in lines if line and not is_check(line))
