"""Collect what is read from another tool's files, and write it as suites, datasets and a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.values.plain_data import canonical, fingerprint
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
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """What the prompt file declares of its variables, such as their types."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Variables with the same value in every case, such as the address of a picture."""
    fills_gaps: bool = False
    """Whether a variable that a case lacks is an empty text, as in other tools; else it is a fault of the case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDraft:
    """A target of the suite that will be written."""

    spec: Mapping[str, Any]
    """`model` and `settings`, or `http` or `command` with what goes with it."""
    name: str = ""
    prompt: PromptText | None = None
    """The prompt of a model."""
    variables: tuple[str, ...] = ()
    """The variables that a service uses; a case that lacks one has an empty text."""


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
    targets: list[TargetDraft] = field(default_factory=list)
    """Targets with settings of their own; they replace `models` and `settings`."""
    lacks_target: str = ""
    """Why the cases cannot be sent anywhere; empty if they can, or need not be."""
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
            lacks_target=self.lacks_target if files else "",
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
    """Return the files of a suite, or of one for each prompt if there are no target drafts; empty if there are no cases."""
    if not builder.cases:
        return {}
    is_answered = _is_answered(builder)
    is_asked = bool(builder.prompts) and not is_answered
    cases = [_with_named_inputs(case) if is_asked else case for case in _uniform_inputs(builder)]
    ids = unique_names(str(case["id"]) for case in cases)
    rows = [{**_as_row(case), "id": name} for case, name in zip(cases, ids, strict=True)]
    files = {**builder.files, "cases.jsonl": "".join(map(json_line, rows))}
    metrics = _metric_entries(builder, files)
    prompts = _prompt_files(builder, files) if is_asked else {}
    if not metrics:
        builder.remark("A suite of these cases has no metric, so its runs are not scored until you add one.")
    if builder.targets:
        return files | {"suite.yaml": yaml_text(_suite(builder, builder.name, metrics, _targets(builder, prompts)))}
    for number, prompt in enumerate([*prompts.values()] or [None]):
        name = "suite.yaml" if number == 0 else f"{file_name(f'suite-{number + 1}')}.yaml"
        # Runs of suites with one name are compared with each other, so each prompt has a suite of its own name.
        title = f"{builder.name}: {str(prompt).removesuffix('.prompt.yml')}" if len(prompts) > 1 else builder.name
        files[name] = yaml_text(_suite(builder, title, metrics, _models(builder, prompt)))
    return files


def _is_answered(builder: ImportBuilder) -> bool:
    """Tell whether the cases have their outputs, so that no model is asked."""
    return not (builder.models or builder.targets) and all("answer" in case for case in builder.cases)


def _suite(builder: ImportBuilder, title: str, metrics: list[Any], target: Any) -> Data:
    suite = {"name": title, "description": builder.description, "datasets": ["cases.jsonl"], "target": target}
    return {key: value for key, value in {**suite, "metrics": metrics}.items() if value} | builder.options


def _models(builder: ImportBuilder, prompt: str | None) -> Data:
    """Return the target of a suite whose models all have the same settings."""
    target: Data = {} if prompt is None else {"prompt": prompt}
    if builder.models and (prompt is not None or not builder.lacks_prompt):
        target["models"] = builder.models
    if builder.settings and (target or not _is_answered(builder)):
        target["settings"] = builder.settings
    return target


def _targets(builder: ImportBuilder, prompts: Mapping[int, str]) -> Any:
    """Return the target of a suite from its drafts: one mapping if they differ in nothing but their models, else a list."""
    paths = {id(builder.prompts[number]): path for number, path in prompts.items()}
    drafts = [draft for draft in builder.targets if draft.prompt is None or id(draft.prompt) in paths]
    if not drafts and builder.targets:
        builder.lacks_target = "none of the prompts can be imported"
    specs = [
        {"prompt": paths[id(draft.prompt)], **draft.spec} if draft.prompt is not None else dict(draft.spec)
        for draft in drafts
    ]
    models = [spec.get("model") for spec in specs]
    rest = {canonical({key: value for key, value in spec.items() if key != "model"}) for spec in specs}
    if len(rest) == 1 and len(set(models)) == len(models) and None not in models and not any(d.name for d in drafts):
        return {key: value for key, value in {**specs[0], "model": None, "models": models}.items() if value}
    names = _target_names(drafts, specs)
    specs = [{**spec, "name": name} if name else spec for spec, name in zip(specs, names, strict=True)]
    return specs[0] if len(specs) == 1 else specs


def _target_names(drafts: Sequence[TargetDraft], specs: Sequence[Data]) -> list[str]:
    """Return the name of each target; empty where the one that reports give it by themselves is enough."""
    several = len({spec.get("prompt") for spec in specs}) > 1
    plain = [str(spec.get("model") or "service") for spec in specs]
    labels = [
        f"{draft.prompt.name}@{draft.name or label}" if several and draft.prompt else draft.name or label
        for draft, label in zip(drafts, plain, strict=True)
    ]
    unique = unique_names(labels)
    needed = [
        bool(draft.name) or "model" not in spec or name != label
        for draft, spec, name, label in zip(drafts, specs, unique, labels, strict=True)
    ]
    return [name if is_needed else "" for name, is_needed in zip(unique, needed, strict=True)]


def _uniform_inputs(builder: ImportBuilder) -> list[Data]:
    """Return the cases with mappings as inputs, where some have one already or a service reads its parts."""
    inputs = [case.get("input") for case in builder.cases]
    services = [draft for draft in builder.targets if draft.prompt is None]
    constants = {name: value for prompt in builder.prompts for name, value in prompt.constants.items()}
    has_parts = services or any(value is None or isinstance(value, Mapping) for value in inputs)
    if not (constants or (builder.targets and has_parts)):
        return builder.cases
    gaps = {name: "" for draft in services for name in draft.variables} | constants
    mappings = [value if isinstance(value, Mapping) else {} if value is None else {"input": value} for value in inputs]
    return [{**case, "input": gaps | dict(value)} for case, value in zip(builder.cases, mappings, strict=True)]


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


def _prompt_files(builder: ImportBuilder, files: dict[str, str]) -> dict[int, str]:
    """Add the prompt files, and return the path of each prompt that can be rendered, by its number."""
    paths: dict[int, str] = {}
    variables = _variables(builder)
    unused = builder.targets and all(draft.prompt is None for draft in builder.targets)
    for number, prompt in enumerate([] if unused else builder.prompts):
        path = f"{file_name(prompt.name, [other.removesuffix('.prompt.yml') for other in paths.values()])}.prompt.yml"
        try:
            files[path] = _prompt_file(prompt, Path(path), variables)
        except ConfigError as error:
            why = str(error).splitlines()[0].partition(": ")[2]
            builder.lacks_prompt = True
            builder.part(f"{prompt.place or prompt.name}", "left out", f"the prompt cannot be rendered here: {why}")
            continue
        paths[number] = path
    return paths


def _prompt_file(prompt: PromptText, path: Path, variables: Mapping[str, bool]) -> str:
    """Return the content of a prompt file.

    Args:
        prompt: the prompt.
        path: its file, for messages.
        variables: the variables of the cases, and whether every case has them.

    Raises:
        ConfigError: the template cannot be rendered here.
    """
    data = prompt_data(prompt)
    named = [variable.name for variable in parse_prompt(yaml_text(data), path).inputs]
    inputs: Data = {name: {"required": False} for name in variables if name not in named}
    if prompt.fills_gaps:
        inputs |= {name: {"default": ""} for name in named if not variables.get(name)}
    inputs = {name: {**inputs.get(name, {}), **prompt.inputs.get(name, {})} for name in {**inputs, **prompt.inputs}}
    text = yaml_text({**data, "inputs": inputs} if inputs else data)
    parse_prompt(text, path)
    return text


def _as_row(case: Data) -> Data:
    """Convert a case to a row of a dataset, with further examples in columns."""
    row = {key: value for key, value in case.items() if key != "examples"}
    for column, liked in (("liked", True), ("disliked", False)):
        found = [example["value"] for example in case.get("examples", ()) if example["liked"] is liked]
        row |= {column: found} if found else {}
    return row


def _variables(builder: ImportBuilder) -> dict[str, bool]:
    """Return the input variables of the cases, since other tools allow ones that the prompt does not use.

    The value tells whether every case has the variable.
    """
    inputs = [_with_named_inputs(case).get("input") for case in _uniform_inputs(builder)]
    names = dict.fromkeys(name for value in inputs if isinstance(value, Mapping) for name in value)
    if builder.targets and not any(isinstance(value, Mapping) for value in inputs):
        names["input"] = None
    return {name: all(not isinstance(value, Mapping) or name in value for value in inputs) for name in names}


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
