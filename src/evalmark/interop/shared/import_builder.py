"""What is gathered from another tool's files on the way in: cases, metrics, prompts, models; and our own files of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import DatasetInfo, Metric, Run
from evalmark.core.values.score import Result
from evalmark.inputs.documents.document import load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.serialization import file_name, json_line, yaml_text
from evalmark.prompts.templates.prompt_files import parse_prompt

from .folders import file_in
from .import_result import ImportedPart, ImportResult, PartOutcome
from .items import unique_names
from .results import SIDE, run_from

Data = dict[str, Any]
_ROLES = {"developer": "system"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDraft:
    """A metric of the suite to be."""

    name: str
    scorer: str = ""
    """A built-in's name; empty for a metric file."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    judge: str = ""
    file: Mapping[str, Any] | None = None
    """What stands in the metric file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """A prompt of another tool: messages with variables."""

    name: str
    messages: Sequence[Mapping[str, str]]
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of a prompt file, such as `description` and `modelParameters`."""
    place: str = ""


@dataclass(slots=True, kw_only=True)
class ImportBuilder:
    """Everything that has been read so far, and what became of each part."""

    name: str = "imported"
    description: str = ""
    cases: list[Data] = field(default_factory=list)
    """The fields of each case, and its `answer` where one is given."""
    metrics: list[MetricDraft] = field(default_factory=list)
    prompts: list[PromptText] = field(default_factory=list)
    lacks_prompt: bool = False
    """Whether a prompt could not be taken over; a suite without any of them would ask something else."""
    models: list[str] = field(default_factory=list)
    settings: Data = field(default_factory=dict)
    """Of the models under test."""
    options: Data = field(default_factory=dict)
    """Further keys of the suite, such as `repeat`."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that the suite takes along as they are."""
    results: list[Result] = field(default_factory=list)
    created: str = ""
    side: Run | None = None
    parts: dict[tuple[str, PartOutcome, str], None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def add(self, case: Data) -> None:
        """Take a case, unless the same one is there."""
        key = fingerprint(case)
        if key not in self.seen:
            self.seen.add(key)
            self.cases.append(case)

    def part(self, name: str, outcome: PartOutcome, to: str) -> None:
        """Note what became of a part; the same word is kept once."""
        self.parts[(name, outcome, to)] = None

    def remark(self, sentence: str) -> None:
        """Note something that a reader should know, once."""
        self.remarks[sentence] = None

    def imported(self) -> ImportResult:
        """All of it as values: the run, and the files of a suite where there is anything to judge or to ask."""
        files = suite_files(self)
        return ImportResult(
            run=_run(self) if self.results else None,
            files=files,
            parts=_parts(self.parts),
            remarks=tuple(self.remarks),
        )


def combine_imports(groups: Mapping[str, ImportBuilder], results: ImportBuilder) -> ImportResult:
    """Groups of tests that were to be judged apart, each as a suite in a folder of its own, and the results.

    The files of a single group lie in no folder.
    """
    files: dict[str, str] = {}
    for name, builder in groups.items():
        folder = f"{file_name(name, [file.partition('/')[0] for file in files])}/" if len(groups) > 1 else ""
        files |= {f"{folder}{file}": text for file, text in suite_files(builder).items()}
    every = (*groups.values(), results)
    return ImportResult(
        run=_run(results) if results.results else None,
        files=files,
        parts=_parts({part: None for builder in every for part in builder.parts}),
        remarks=tuple(dict.fromkeys(remark for builder in every for remark in builder.remarks)),
    )


def _parts(said: Mapping[tuple[str, PartOutcome, str], None]) -> tuple[ImportedPart, ...]:
    """The parts, those of one end in one line: a config may say the same of a thousand tests."""
    names: dict[tuple[PartOutcome, str], list[str]] = {}
    for name, outcome, to in said:
        names.setdefault((outcome, to), []).append(name)
    return tuple(
        ImportedPart(
            name=found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1:,} more",
            outcome=outcome,
            to=to,
            number=len(found),
        )
        for (outcome, to), found in names.items()
    )


def read_side_file(folder: Path) -> Run | None:
    """The header of the run that an export of ours has put beside the other tool's files; None where there is none.

    Raises:
        DataError: it cannot be read.
    """
    path = file_in(folder, SIDE)
    if path is None:
        return None
    data = load_document(path).data
    if not isinstance(data, dict) or data.get("format") != "evalmark-export" or data.get("version") != 1:
        raise PlacedError(f"{path}:1", "is not what an export of version 1 puts beside its files; take it away.")
    return run_from(data.get("run"), str(path))


def _run(builder: ImportBuilder) -> Run:
    """The results as a run; what an export of ours has said of it counts, as far as it is still so."""
    results = sorted(builder.results, key=_order(builder))
    targets = tuple(dict.fromkeys(result.trial.target for result in results))
    run = builder.side or Run(
        id="",
        name=builder.name,
        created=builder.created,
        target=", ".join(filter(None, targets)),
        repeat=1 + max(result.trial.repeat for result in results),
        metrics=_metrics(results),
        datasets=_datasets(results),
    )
    return replace(run, results=results)


def _order(builder: ImportBuilder) -> Any:
    known = [info.name for info in builder.side.datasets] if builder.side else []
    names = list(dict.fromkeys((*known, *(result.trial.dataset for result in builder.results))))
    places = {name: number for number, name in enumerate(names)}

    def key(result: Result) -> tuple[Any, ...]:
        trial = result.trial
        return places[trial.dataset], trial.position, trial.repeat, trial.target, trial.mode

    return key


def _datasets(results: Sequence[Result]) -> tuple[DatasetInfo, ...]:
    rows: dict[str, set[int]] = {}
    for result in results:
        rows.setdefault(result.trial.dataset, set()).add(result.trial.position)
    return tuple(DatasetInfo(name=name, rows=len(found)) for name, found in rows.items())


def _metrics(results: Sequence[Result]) -> tuple[Metric, ...]:
    found: dict[str, Metric] = {}
    for result in results:
        for score in result.scores:
            found.setdefault(score.name, Metric(name=score.name, direction=score.direction))
    return tuple(found.values())


def suite_files(builder: ImportBuilder) -> dict[str, str]:
    """A suite for each prompt, or one without any, with its cases, prompts and metric files; nothing where nothing is known."""
    if not builder.cases:
        return {}
    is_answered = not builder.models and all("answer" in case for case in builder.cases)
    is_asked = bool(builder.prompts) and not is_answered
    ids = unique_names(str(case["id"]) for case in builder.cases)
    cases = [_with_named_inputs(case) if is_asked else case for case in builder.cases]
    rows = [{**_as_row(case), "id": name} for case, name in zip(cases, ids, strict=True)]
    files = {**builder.files, "cases.jsonl": "".join(map(json_line, rows))}
    metrics = _metric_entries(builder, files)
    prompts = _prompt_files(builder, files) if is_asked else []
    for number, prompt in enumerate(prompts or [None]):
        name = "suite.yaml" if number == 0 else f"{file_name(f'suite-{number + 1}')}.yaml"
        files[name] = yaml_text(_suite(builder, metrics, prompt))
    if not metrics:
        builder.remark("No metric of ours does what the files ask for; add one to the suite before it is run.")
    return files


def _suite(builder: ImportBuilder, metrics: list[Any], prompt: str | None) -> Data:
    target: Data = {} if prompt is None else {"prompt": prompt}
    if builder.models and (prompt is not None or not builder.lacks_prompt):
        target["models"] = builder.models
    if builder.settings and target:
        target["settings"] = builder.settings
    suite = {"name": builder.name, "description": builder.description, "datasets": ["cases.jsonl"], "target": target}
    return {key: value for key, value in suite.items() if value} | {"metrics": metrics} | builder.options


def _metric_entries(builder: ImportBuilder, files: dict[str, str]) -> list[Any]:
    """The metrics as the suite names them; those with words of their own become files."""
    entries: list[Any] = []
    names = unique_names(draft.name for draft in builder.metrics)
    for draft, name in zip(builder.metrics, names, strict=True):
        said = {"threshold": draft.threshold, "judge": draft.judge or None}
        more = {key: value for key, value in said.items() if value is not None}
        if draft.file is None:
            settings = {**draft.settings, **({"name": name} if name != draft.scorer else {}), **more}
            entries.append({draft.scorer: settings} if settings else draft.scorer)
            continue
        path = f"metrics/{file_name(name, [Path(other).stem for other in files])}.yaml"
        files[path] = yaml_text({"name": name, **{key: v for key, v in draft.file.items() if key != "name"}})
        entries.append({path: more} if more else path)
    return entries


def _prompt_files(builder: ImportBuilder, files: dict[str, str]) -> list[str]:
    found: list[str] = []
    for prompt in builder.prompts:
        path = f"{file_name(prompt.name, [other.removesuffix('.prompt.yml') for other in found])}.prompt.yml"
        data = prompt_data(prompt)
        try:
            named = {known.name for known in parse_prompt(yaml_text(data), Path(path)).inputs}
            more = {name: {"required": False} for name in _variables(builder) if name not in named}
            text = yaml_text({**data, "inputs": more} if more else data)
            parse_prompt(text, Path(path))
        except ConfigError as error:
            why = str(error).splitlines()[0].partition(": ")[2]
            builder.lacks_prompt = True
            builder.part(f"{prompt.place or prompt.name}", "left out", f"the prompt cannot be rendered here: {why}")
            continue
        files[path] = text
        found.append(path)
    return found


def _as_row(case: Data) -> Data:
    """A case as a row of a dataset, which has its further answers in columns."""
    row = {key: value for key, value in case.items() if key != "examples"}
    for column, liked in (("liked", True), ("disliked", False)):
        found = [example["value"] for example in case.get("examples", ()) if example["liked"] is liked]
        row |= {column: found} if found else {}
    return row


def _variables(builder: ImportBuilder) -> list[str]:
    """All names that inputs of the cases have; other tools take variables that a prompt does not show."""
    given = (_with_named_inputs(case).get("input") for case in builder.cases)
    return list(dict.fromkeys(name for said in given if isinstance(said, Mapping) for name in said))


def _with_named_inputs(case: Data) -> Data:
    """The case with those values for input that a variable can name; the others stand in its metadata."""
    given = case.get("input")
    if not isinstance(given, Mapping):
        return case
    kept = {name: value for name, value in given.items() if name.isidentifier() and not name.startswith("__")}
    if len(kept) == len(given):
        return case
    metadata = {name: value for name, value in given.items() if name not in kept} | case.get("metadata", {})
    return {**case, "input": kept, "metadata": metadata}


def prompt_data(prompt: PromptText) -> Data:
    """A prompt as a file of GitHub Models holds it, which our prompts can be read from."""
    messages = [{"role": _ROLES.get(m["role"], m["role"]), "content": m["content"]} for m in prompt.messages]
    return {"name": prompt.name, **prompt.more, "messages": messages}
