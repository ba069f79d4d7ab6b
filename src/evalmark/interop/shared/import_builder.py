"""Collect what is read from another tool's files, and write it as suites, datasets and a run."""

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
    """A metric of the suite that will be written."""

    name: str
    scorer: str = ""
    """The name of a built-in scorer; empty for a metric file."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    judge: str = ""
    file: Mapping[str, Any] | None = None
    """The content of the metric file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """A prompt: messages with variables."""

    name: str
    messages: Sequence[Mapping[str, str]]
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of a prompt file, such as `description` and `modelParameters`."""
    place: str = ""


@dataclass(slots=True, kw_only=True)
class ImportBuilder:
    """Collects the parts of an import and their outcomes."""

    name: str = "imported"
    description: str = ""
    cases: list[Data] = field(default_factory=list)
    """The fields of each case, and its `answer` if it has one."""
    metrics: list[MetricDraft] = field(default_factory=list)
    prompts: list[PromptText] = field(default_factory=list)
    lacks_prompt: bool = False
    """Whether a prompt could not be imported; without it the suite would send other requests."""
    models: list[str] = field(default_factory=list)
    settings: Data = field(default_factory=dict)
    """The settings of the models under test."""
    options: Data = field(default_factory=dict)
    """Further keys of the suite, such as `repeat`."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that are copied unchanged."""
    results: list[Result] = field(default_factory=list)
    created: str = ""
    side: Run | None = None
    parts: dict[tuple[str, PartOutcome, str], None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def add(self, case: Data) -> None:
        """Add a case, unless an equal one was added before."""
        key = fingerprint(case)
        if key not in self.seen:
            self.seen.add(key)
            self.cases.append(case)

    def add_prompt(self, prompt: PromptText, part: str) -> None:
        """Add a prompt and record it as a part, unless one with equal messages was added before."""
        if all(prompt.messages != other.messages for other in self.prompts):
            self.prompts.append(prompt)
            self.part(part, "kept", "a prompt file")

    def part(self, name: str, outcome: PartOutcome, to: str) -> None:
        """Record the outcome of a part, once."""
        self.parts[(name, outcome, to)] = None

    def remark(self, sentence: str) -> None:
        """Add a remark for the user, once."""
        self.remarks[sentence] = None

    def imported(self) -> ImportResult:
        """Make the result: the run, if there are results, and the files of a suite, if there are cases."""
        files = suite_files(self)
        return ImportResult(
            run=_run(self) if self.results else None,
            files=files,
            parts=_parts(self.parts),
            remarks=tuple(self.remarks),
        )


def combine_imports(groups: Mapping[str, ImportBuilder], results: ImportBuilder) -> ImportResult:
    """Combine groups of tests with different scoring: each becomes a suite in its own folder.

    The files of a single group are in no folder.
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


def _parts(parts: Mapping[tuple[str, PartOutcome, str], None]) -> tuple[ImportedPart, ...]:
    """Make the parts, merging those with the same outcome, since a config may have a thousand alike."""
    names: dict[tuple[PartOutcome, str], list[str]] = {}
    for name, outcome, to in parts:
        names.setdefault((outcome, to), []).append(name)
    return tuple(
        ImportedPart(name=alike[0], others=tuple(alike[1:]), outcome=outcome, to=to)
        for (outcome, to), alike in names.items()
    )


def read_side_file(folder: Path) -> Run | None:
    """Read the run header that an export wrote beside the other tool's files; None if there is none.

    Raises:
        DataError: the file is invalid.
    """
    path = file_in(folder, SIDE)
    if path is None:
        return None
    data = load_document(path).data
    if not isinstance(data, dict) or data.get("format") != "evalmark-export" or data.get("version") != 1:
        raise PlacedError(f"{path}:1", "is not the side file of an export, version 1; remove it.")
    return run_from(data.get("run"), str(path))


def _run(builder: ImportBuilder) -> Run:
    """Make a run of the results, with the header from the export's side file, if any."""
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
    listed = [info.name for info in builder.side.datasets] if builder.side else []
    names = list(dict.fromkeys((*listed, *(result.trial.dataset for result in builder.results))))
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
    """Return the files of one suite for each prompt, or of one without a prompt; empty if there are no cases."""
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
        # Runs of suites with one name are compared with each other, so each prompt has a suite of its own name.
        title = f"{builder.name}: {str(prompt).removesuffix('.prompt.yml')}" if len(prompts) > 1 else builder.name
        files[name] = yaml_text(_suite(builder, title, metrics, prompt))
    if not metrics:
        builder.remark(
            "Nothing in the files scores outputs, so runs of the suite are not scored until it has a metric."
        )
    return files


def _suite(builder: ImportBuilder, title: str, metrics: list[Any], prompt: str | None) -> Data:
    target: Data = {} if prompt is None else {"prompt": prompt}
    if builder.models and (prompt is not None or not builder.lacks_prompt):
        target["models"] = builder.models
    if builder.settings and target:
        target["settings"] = builder.settings
    suite = {"name": title, "description": builder.description, "datasets": ["cases.jsonl"], "target": target}
    return {key: value for key, value in {**suite, "metrics": metrics}.items() if value} | builder.options


def _metric_entries(builder: ImportBuilder, files: dict[str, str]) -> list[Any]:
    """Return the metrics as entries of the suite; those with their own texts become metric files."""
    entries: list[Any] = []
    names = unique_names(draft.name for draft in builder.metrics)
    for draft, name in zip(builder.metrics, names, strict=True):
        options = {"threshold": draft.threshold, "judge": draft.judge or None}
        more = {key: value for key, value in options.items() if value is not None}
        if draft.file is None:
            settings = {**draft.settings, **({"name": name} if name != draft.scorer else {}), **more}
            entries.append({draft.scorer: settings} if settings else draft.scorer)
            continue
        path = f"metrics/{file_name(name, [Path(other).stem for other in files])}.yaml"
        files[path] = yaml_text({"name": name, **{key: v for key, v in draft.file.items() if key != "name"}})
        entries.append({path: more} if more else path)
    return entries


def _prompt_files(builder: ImportBuilder, files: dict[str, str]) -> list[str]:
    paths: list[str] = []
    for prompt in builder.prompts:
        path = f"{file_name(prompt.name, [other.removesuffix('.prompt.yml') for other in paths])}.prompt.yml"
        data = prompt_data(prompt)
        try:
            named = {variable.name for variable in parse_prompt(yaml_text(data), Path(path)).inputs}
            more = {name: {"required": False} for name in _variables(builder) if name not in named}
            text = yaml_text({**data, "inputs": more} if more else data)
            parse_prompt(text, Path(path))
        except ConfigError as error:
            why = str(error).splitlines()[0].partition(": ")[2]
            builder.lacks_prompt = True
            builder.part(f"{prompt.place or prompt.name}", "left out", f"the prompt cannot be rendered here: {why}")
            continue
        files[path] = text
        paths.append(path)
    return paths


def _as_row(case: Data) -> Data:
    """Convert a case to a row of a dataset, with further examples in columns."""
    row = {key: value for key, value in case.items() if key != "examples"}
    for column, liked in (("liked", True), ("disliked", False)):
        found = [example["value"] for example in case.get("examples", ()) if example["liked"] is liked]
        row |= {column: found} if found else {}
    return row


def _variables(builder: ImportBuilder) -> list[str]:
    """Return all input variables of the cases; other tools allow variables that the prompt does not use."""
    inputs = (_with_named_inputs(case).get("input") for case in builder.cases)
    return list(dict.fromkeys(name for value in inputs if isinstance(value, Mapping) for name in value))


def _with_named_inputs(case: Data) -> Data:
    """Return the case with only valid variable names in its input; the others move to its metadata."""
    variables = case.get("input")
    if not isinstance(variables, Mapping):
        return case
    valid = {name: value for name, value in variables.items() if name.isidentifier() and not name.startswith("__")}
    if len(valid) == len(variables):
        return case
    metadata = {name: value for name, value in variables.items() if name not in valid} | case.get("metadata", {})
    return {**case, "input": valid, "metadata": metadata}


def prompt_data(prompt: PromptText) -> Data:
    """Convert a prompt to the content of a GitHub Models file, which evalmark can read."""
    messages = [{"role": _ROLES.get(m["role"], m["role"]), "content": m["content"]} for m in prompt.messages]
    return {"name": prompt.name, **prompt.more, "messages": messages}
