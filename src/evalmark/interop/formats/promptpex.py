"""PromptPex: a folder of its results as one run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from evalmark.core.values.run import DatasetInfo, Run
from evalmark.core.values.words import count
from evalmark.inputs.documents.faults import PlacedError
from evalmark.inputs.documents.files import what_is
from evalmark.inputs.documents.text import read_text
from evalmark.interop.shared.folders import file_in
from evalmark.interop.shared.imported import Imported, Part
from evalmark.interop.shared.sheets import Row, read_rows
from evalmark.prompts.specs.statement_files import is_check

from .promptpex_trials import Known, trials_of

Notes = Callable[[str], None]

RESULTS = "test_results"
TABLES: Mapping[str, tuple[str, ...]] = {
    RESULTS: ("id", "model", "input", "output"),
    "tests": ("testinput",),
    "test_evals": ("id",),
    "rule_evals": ("ruleid",),
}
"""Which tables are read, and the columns that each of their rows must have."""
FATES = (
    Part(name="input, output", fate="mapped", to="the input of each case, and what each model answered"),
    Part(name="model", fate="mapped", to="the target"),
    Part(name="compliance, complianceText", fate="mapped", to="the score `compliance`: passed or not, and its reason"),
    Part(name="metrics", fate="mapped", to="a score each, from 0 to 100"),
    Part(name="error", fate="mapped", to="the error of the output"),
    Part(name="ruleid, rule, inverse, baseline", fate="mapped", to="the tags `positive`, `negative`, `baseline`"),
    Part(name="groundtruth", fate="mapped", to="the expected answer"),
    Part(name="promptid, ruleid, rule, inverse, scenario, baseline", fate="metadata"),
    Part(name="tests: testid, expectedoutput, reasoning", fate="metadata"),
    Part(name="test_evals: validity, validityText", fate="metadata", to="`valid`, `valid_reason`"),
    Part(
        name="test_evals: coverage, coverageEvalText, coverageText",
        fate="metadata",
        to="`agreement`, `agreement_reason`, `agreement_output`",
    ),
    Part(name="rule_evals: grounded, groundedText", fate="metadata", to="`grounded`, `grounded_reason`"),
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
    """A folder of results that PromptPex has written, as one run; what did not fit stands in its notes.

    Each test of a rule is a case of the dataset named for the folder, each baseline test one of a dataset of its own.
    The id of a case is the published one with the number of its rule, as one input may stand under several rules.

    Raises:
        DataError: there are no results in the folder, or they cannot be read.
    """
    run = import_promptpex(folder).run
    assert run is not None  # noqa: S101  the importer gives one or raises
    return run


def import_promptpex(folder: Path | str) -> Imported:
    """`read_promptpex`, with an account of what was mapped, kept as metadata and left out."""
    folder = Path(folder)
    found = _read(folder)
    known = Known(
        name=folder.resolve().name,
        tests=found.tables["tests"],
        verdicts=found.tables["test_evals"],
        groundings=found.tables["rule_evals"],
        rules=_lines(folder, "rules.txt"),
        inverse_rules=_lines(folder, "inverse_rules.txt"),
    )
    trials = trials_of(found.tables[RESULTS], known, found.notes.append)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    run = Run(
        id=known.name,
        name=known.name,
        created=now,
        finished=now,
        target=", ".join(trials.targets),
        datasets=tuple(
            DatasetInfo(name=name, path=str(folder), rows=rows) for name, rows in trials.sizes.items() if rows
        ),
        metrics=trials.metrics,
        repeat=trials.repeats,
        notes=(f"Imported from results of PromptPex in {folder}.", *found.notes),
        results=trials.results,
    )
    return Imported(run=run, parts=(*found.parts, *_fates(found)), remarks=tuple(found.notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What stands in a folder."""

    tables: dict[str, Sequence[Row]] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _read(folder: Path) -> _Found:
    """All tables of a folder; those that are not there have no rows.

    Raises:
        DataError: there are no results.
    """
    found = _Found()
    for name, needed in TABLES.items():
        files = [path for ending in (".json", ".csv") if (path := file_in(folder, f"{name}{ending}"))]
        if not files and name == RESULTS:
            raise _nothing(folder)
        found.tables[name] = read_rows(files[0], needed, found.notes.append) if files else ()
        found.parts.extend([Part(name=path.name, fate="mapped", to=_rows(found.tables[name])) for path in files[:1]])
        found.parts.extend([Part(name=path.name, fate="left out", to=f"{files[0].name} is read") for path in files[1:]])
    others = [Part(name=name, fate="mapped", to=RULES) for name in ("rules.txt", "inverse_rules.txt")]
    others += [Part(name=name, fate="left out", to=why) for name, why in LEFT_OUT.items()]
    found.parts.extend(part for part in others if file_in(folder, part.name))
    return found


def _nothing(folder: Path) -> PlacedError:
    if what_is(folder) != "folder":
        return PlacedError(str(folder), "there is no such folder; name one in which PromptPex has written its results.")
    below = sorted(path.parent.name for ending in (".csv", ".json") for path in folder.glob(f"*/{RESULTS}{ending}"))
    advice = f"; name one of the folders in it: {', '.join(below[:5])}" if below else "; name the folder that has them"
    return PlacedError(str(folder), f"there is no {RESULTS}.csv or {RESULTS}.json here{advice}.")


def _rows(rows: Sequence[Row]) -> str:
    return count(len(rows), "row")


def _fates(found: _Found) -> Iterable[Part]:
    """The fates of those columns that are there."""
    columns = {name: {column for row in rows for column in row.cells} for name, rows in found.tables.items()}
    for part in FATES:
        table, _, names = part.name.rpartition(": ")
        there = columns[table] if table else columns[RESULTS] | columns["tests"]
        if kept := [name for name in names.split(", ") if name in there]:
            label = f"{table}: " if table else ""
            yield Part(name=label + ", ".join(kept), fate=part.fate, to=part.to)


def _lines(folder: Path, name: str) -> tuple[str, ...]:
    """The statements of a text file, one a line, without blanks around them; none where there is no such file."""
    path = file_in(folder, name)
    lines = () if path is None else map(str.strip, read_text(path).splitlines())
    return tuple(line for line in lines if line and not is_check(line))
