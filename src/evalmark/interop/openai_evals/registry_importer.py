"""Import an openai/evals registry: its evals and samples as suites, its logs as runs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.document import load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import numbered_lines, text_chunks
from evalmark.interop.shared.folders import files_of, folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, combine_imports, read_side_file
from evalmark.interop.shared.import_options import DEFAULT_OPTIONS, ImportOptions
from evalmark.interop.shared.import_result import ImportResult, PartOutcome
from evalmark.interop.shared.items import dict_or_empty
from evalmark.interop.shared.results import REST, native_trial, result_from

from .registry_exporter import native_of
from .registry_suites import READERS, RegistryEval, RegistrySample, suite_of

Data = dict[str, Any]


def import_openai_registry(path: Path, options: ImportOptions = DEFAULT_OPTIONS) -> ImportResult:
    """Import the evals, samples and logs of a registry folder, or of one of its YAML or JSONL files.

    Evals with the same samples become one suite.

    Raises:
        DataError: a file cannot be read, or there is no file of a registry.
    """
    results = ImportBuilder(name="imported registry", side=read_side_file(folder_of(path)))
    specs, logs, rows = _classify_files(path)
    samples = {file: _samples(file) for file in rows}
    groups = specs.suites(samples, results)
    if not groups and any(samples.values()):  # without an eval nothing says how they are judged
        groups = {results.name: suite_of((), [one for group in samples.values() for one in group])}
    for file in logs:
        _log(file, samples, specs, results)
    if not (groups or results.results or specs.evals):
        raise PlacedError(str(path), "has no samples and no log of the openai/evals registry.")
    return combine_imports(groups, results)


def _classify_files(path: Path) -> tuple["_Specs", list[Path], list[Path]]:
    """Read the YAML files, and separate logs from files of samples."""
    specs, logs, rows = _Specs(), list[Path](), list[Path]()
    for file in files_of(path, (".yaml", ".yml", ".jsonl"), below=True):
        if file.suffix in (".yaml", ".yml"):
            specs.read(file)
        elif file.suffix == ".jsonl":
            (logs if _is_log(file) else rows).append(file)
        elif file == path:
            raise PlacedError(str(path), "is neither YAML nor JSONL, as the files of a registry are.")
    return specs, logs, rows


def _is_log(file: Path) -> bool:
    first = next((line for _, line in numbered_lines(text_chunks(regular_file(file))) if line.strip()), "")
    return '"spec"' in first[:200] or '"run_id"' in first[:200]


def _lines(file: Path) -> Iterator[tuple[Data, str]]:
    for number, line in numbered_lines(text_chunks(file)):
        if line.strip():
            data = parse_json(line, str(file), number)
            if not isinstance(data, dict):
                raise PlacedError(
                    f"{file}:{number}", "is not an object, as every line of a registry's JSONL has to be."
                )
            yield data, f"{file}:{number}"


def _samples(file: Path) -> list[RegistrySample]:
    samples = []
    for row, place in _lines(file):
        if "input" not in row:
            raise PlacedError(place, "`$.input` is missing; a sample has one, and mostly an `ideal`.")
        samples.append(RegistrySample(row, place))
    return samples


class _Specs:
    """The evals and the model-graded questions of a registry, by name."""

    def __init__(self) -> None:
        self.evals: dict[str, tuple[Data, str]] = {}
        self.graded: dict[str, tuple[Data, str]] = {}

    def read(self, file: Path) -> None:
        """Add the evals and model-graded questions of a YAML file."""
        document = load_document(file)
        if not isinstance(document.data, dict):
            raise PlacedError(document.place_of(), "is not a mapping from names to evals.")
        for name, definition in document.data.items():
            place = document.place_of((name,))
            if isinstance(definition, str):
                continue  # another name for an eval
            if not isinstance(definition, dict):
                raise PlacedError(place, f"`{name}` is not a mapping.")
            if "class" in definition:
                self.evals[name] = (definition, place)
            elif "prompt" in definition and "choice_strings" in definition:
                self.graded[name] = (definition, place)

    def samples_of(self, spec: Data, samples: Mapping[Path, list[RegistrySample]]) -> list[RegistrySample]:
        """Return the samples that a log refers to; empty if several files are possible."""
        definition, _ = self.evals.get(str(spec.get("eval_name")), ({}, ""))
        file = _file_of(dict_or_empty(definition.get("args")), f"/{spec.get('base_eval')}/samples.jsonl", samples)
        return [] if file is None else samples[file]

    def suites(self, samples: Mapping[Path, list[RegistrySample]], others: ImportBuilder) -> dict[str, ImportBuilder]:
        """Return a suite, by name, for each file of samples; parts that are in no suite are recorded in `others`."""
        evals: dict[Path, list[RegistryEval]] = {}
        for name, (definition, place) in self.evals.items():
            one = RegistryEval(
                name.split(".")[0], str(definition["class"]), dict_or_empty(definition.get("args")), f"{place} {name}"
            )
            file = _file_of(one.args, f"/{one.name}/samples.jsonl", samples)
            if (why := self._refusal(one, file)) is not None:
                others.part(one.place, *why)
            elif file is not None:
                evals.setdefault(file, []).append(one)
        suites: dict[str, ImportBuilder] = {}
        for file, group in evals.items():
            builder = suite_of([self._graded_by(one) for one in group], samples[file])
            name = group[0].name
            suites[name if name not in suites else f"{name} {file.parent.name}"] = builder
        has_metrics = {name: builder for name, builder in suites.items() if builder.metrics}
        for builder in [builder for name, builder in suites.items() if has_metrics and name not in has_metrics]:
            others.parts |= builder.parts
        return has_metrics or suites

    def _refusal(self, one: RegistryEval, file: Path | None) -> tuple[PartOutcome, str] | None:
        """Return the outcome of an eval that cannot be in a suite; None if it can."""
        if not one.kind.startswith("evals.elsuite."):
            return "left out", f"its class {one.kind!r:.60} is code of its own"
        if one.kind not in READERS:
            return "left out", f"evalmark has no metric for {one.kind.rpartition(':')[2]:.60}"
        if file is None:
            return "left out", f"its samples {one.args.get('samples_jsonl')!r:.80} are in none of the files"
        return None

    def _graded_by(self, one: RegistryEval) -> RegistryEval:
        """Return the eval with its model-graded question, if it names one."""
        spec, _ = self.graded.get(str(one.args.get("modelgraded_spec")), (None, ""))
        return one._replace(graded=spec)


def _file_of(args: Data, usual: str, samples: Mapping[Path, list[RegistrySample]]) -> Path | None:
    """Return the file of samples of an eval; None if there is none, or several match."""
    name = str(args.get("samples_jsonl") or "")
    ending = f"/{name}" if name else usual
    files = [file for file in samples if file.as_posix().endswith(ending)]
    if not files and len(samples) == 1:
        files = [file for file in samples if file.name == ending.rpartition("/")[2]]
    return files[0] if len(files) == 1 else None


def _log(file: Path, samples: Mapping[Path, list[RegistrySample]], specs: "_Specs", builder: ImportBuilder) -> None:
    spec: Data = {}
    samplings: list[tuple[str, Data, str]] = []
    about: dict[str, list[tuple[str, Data]]] = {}
    last: dict[str, str] = {}
    for row, place in _lines(file):
        if isinstance(row.get("spec"), dict):
            spec = row["spec"]
        elif isinstance(row.get("data"), dict) and isinstance(row.get("sample_id"), str):
            sample, kind = row["sample_id"], str(row.get("type"))
            if kind == "sampling":
                last[sample] = place
                samplings.append((sample, row["data"], place))
            elif sample in last and kind in ("match", "error"):
                about.setdefault(last[sample], []).append((kind, row["data"]))
        elif "final_report" not in row:
            raise PlacedError(place, "is neither a spec, an event about a sample, nor a final report.")
    mine = specs.samples_of(spec, samples)
    if not mine and len(samples) > 1:
        builder.remark(f"{file}: it does not name its file of samples; its cases are made from the log.")
    _results(spec, samplings, about, mine, builder)
    builder.part(f"{file}: {len(samplings)} answers", "kept", "results of a run")


def _results(
    spec: Data,
    samplings: list[tuple[str, Data, str]],
    about: Mapping[str, list[tuple[str, Data]]],
    samples: list[RegistrySample],
    builder: ImportBuilder,
) -> None:
    models = spec.get("completion_fns")
    target = str(models[0]) if isinstance(models, list) and models else ""
    dataset = builder.side.name if builder.side else str(spec.get("base_eval") or builder.name)
    created = spec.get("created_at")
    builder.created = builder.created or (created if isinstance(created, str) else "")
    for number, (sample, data, place) in enumerate(samplings):
        events = about.get(place, [])
        matches = [event for kind, event in events if kind == "match"]
        error = next((event for kind, event in events if kind == "error"), None)
        native = native_of(_sample(sample, samples), data, matches, error)
        native["trial"] = native_trial(dataset, target, number)
        builder.results.append(result_from(native, data.get(REST), place))


def _sample(name: str, samples: list[RegistrySample]) -> Data | None:
    """Return the sample of an event, whose name ends with the sample's number."""
    number = name.rpartition(".")[2]
    at = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else len(samples)
    return samples[at].data if at < len(samples) else None
