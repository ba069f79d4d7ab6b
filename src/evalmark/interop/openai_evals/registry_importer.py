"""Import an openai/evals registry: its evals and samples as suites, its logs as runs."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError, DataError
from evalmark.inputs.documents.document import load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import numbered_lines, text_chunks
from evalmark.interop.shared.folders import files_of, folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, combine_imports, read_side_file
from evalmark.interop.shared.import_options import DEFAULT_OPTIONS, ImportOptions
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import dict_or_empty, unique_names
from evalmark.interop.shared.results import REST, native_trial, result_from

from .registry_exporter import native_of
from .registry_suites import CLASSES, RegistryEval, RegistrySample, suite_of

Data = dict[str, Any]
_LFS = "version https://git-lfs.github.com/spec/"
MOST_AT_ONCE = 256 << 20
"""The most bytes of samples in one import; a larger registry is imported eval by eval."""


def import_openai_registry(path: Path, options: ImportOptions = DEFAULT_OPTIONS) -> ImportResult:
    """Import the evals, samples and logs of a registry folder, or of one of its YAML or JSONL files.

    Each eval becomes a suite; in an export of evalmark, evals with the same samples become one. A file that cannot be
    read costs what depends on it.

    Raises:
        DataError: the only file cannot be read, there is no file of a registry, or no eval of the name in `options`.
    """
    results = ImportBuilder(name="imported registry", side=read_side_file(folder_of(path)))
    registry = read_registry(path, results)
    evals = registry.named(options.eval_name) if options.eval_name else registry.evals
    if options.eval_name:
        results.parts.clear()  # other evals do not concern the one that is imported
        registry.logs.clear()
    groups = _suites(registry, evals, results)
    if not groups and not registry.evals and registry.samples:  # without an eval nothing says how they are judged
        rows = [row for file in registry.samples for row in registry.rows(file)]
        groups = {results.name: suite_of((), rows)} if rows else {}
    for file in registry.logs:
        _log(file, registry, results)
    if not (groups or results.results or registry.evals or results.parts):
        raise PlacedError(str(path), "has no samples and no log of the openai/evals registry.")
    return combine_imports(groups, results)


def read_registry(path: Path, builder: ImportBuilder) -> "Registry":
    """Read the YAML files of a registry, and find its samples and logs; files with faults are recorded in `builder`.

    Raises:
        DataError: the path is a single file with a fault, or of another kind.
    """
    found = Registry()
    for file in files_of(path, (".yaml", ".yml", ".jsonl", ".jsonl.gz"), below=True):
        try:
            if file.suffix in (".yaml", ".yml"):
                found.read(file)
            elif file.name.endswith((".jsonl", ".jsonl.gz")):
                (found.logs if _is_log(file) else found.samples).append(file)
            elif file == path:
                raise PlacedError(str(path), "is neither YAML nor JSONL, as the files of a registry are.")
        except DataError as error:
            if file == path:
                raise
            builder.part(str(file), "left out", f"it cannot be read: {error}".replace(f"{file}:", "line "))
    return found


def _suites(registry: "Registry", evals: Mapping[str, RegistryEval], others: ImportBuilder) -> dict[str, ImportBuilder]:
    """Return a suite, by name, for each eval; parts that are in no suite are recorded in `others`."""
    groups = _groups(registry, evals, others)
    suites: dict[str, ImportBuilder] = {}
    names = unique_names(group[0].name for group in groups.values())
    for title, ((file, _), group) in zip(names, groups.items(), strict=True):
        try:
            builder = suite_of([registry.completed(one) for one in group], registry.rows(file))
        except DataError as error:
            for one in group:
                others.part(one.place, "left out", f"its samples cannot be read: {error}")
            continue
        builder.name = title
        if others.side is not None:
            builder.settings.clear()  # the exported run had its own settings
        if builder.metrics:
            suites[title] = builder
        else:
            others.parts |= builder.parts
    return suites


def _groups(
    registry: "Registry", evals: Mapping[str, RegistryEval], others: ImportBuilder
) -> dict[tuple[Path, str], list[RegistryEval]]:
    """Return the evals of each suite; those that cannot be in one are recorded in `others`."""
    groups: dict[tuple[Path, str], list[RegistryEval]] = {}
    left = MOST_AT_ONCE
    for name, one in evals.items():
        file = registry.samples_of(one)
        why = registry.refusal(one, file)
        if file is None or why is not None:
            others.part(one.place, "left out", str(why))
            continue
        key = (file, "" if others.side is not None else name)
        left -= 0 if key in groups else file.stat().st_size
        if left >= 0 or len(evals) == 1:
            groups.setdefault(key, []).append(one)
        else:
            why = f"the evals before it have {MOST_AT_ONCE >> 20} MiB of samples; import it with --eval {name}"
            others.part(one.place, "left out", why)
    return groups


class Registry:
    """The evals and the model-graded questions of a registry, by name, and its files of samples and logs."""

    def __init__(self) -> None:
        self.evals: dict[str, RegistryEval] = {}
        self.other_names: dict[str, str] = {}
        self.graded: dict[str, Data] = {}
        self.samples: list[Path] = []
        self.logs: list[Path] = []

    def read(self, file: Path) -> None:
        """Add the evals and model-graded questions of a YAML file."""
        document = load_document(file)
        if not isinstance(document.data, dict):
            raise PlacedError(document.place_of(), "is not a mapping from names to evals.")
        for name, definition in document.data.items():
            place = document.place_of((name,))
            if isinstance(definition, str):
                self.other_names[str(name)] = definition
                continue
            if not isinstance(definition, dict):
                raise PlacedError(place, f"`{name}` is not a mapping.")
            if "class" in definition:
                args = dict_or_empty(definition.get("args"))
                title = str(name).split(".")[0]
                self.evals[str(name)] = RegistryEval(title, str(definition["class"]), args, f"{place} {name}")
            elif "prompt" in definition and "choice_strings" in definition:
                self.graded[str(name)] = definition
            elif isinstance(definition.get("id"), str):
                self.other_names[str(name)] = definition["id"]

    def named(self, name: str) -> dict[str, RegistryEval]:
        """Return the eval of a name, which may be its name without version.

        Raises:
            ConfigError: there is none.
        """
        found = name
        for _ in range(10):  # names of names
            if found in self.evals:
                return {found: self.evals[found]}
            found = self.other_names.get(found, found)
        close = get_close_matches(name, [*self.evals, *self.other_names], n=3)
        advice = f"did you mean {' or '.join(close)}?" if close else f"there are {len(self.evals):,} others."
        raise ConfigError(f"--eval {name}: there is no such eval; {advice}")

    def samples_of(self, one: RegistryEval) -> Path | None:
        """Return the file of samples of an eval; None if there is none, or several match."""
        name = str(one.args.get("samples_jsonl") or "")
        return self._file(name) if name else self._file(f"{one.name}/samples.jsonl")

    def _file(self, name: str) -> Path | None:
        """Return the file of samples that an eval names; the only file of that name may be anywhere."""
        files = [file for file in self.samples if file.as_posix().endswith((f"/{name}", f"/{name}.gz"))]
        if not files and len(self.samples) == 1:
            files = [file for file in self.samples if file.name == name.rpartition("/")[2]]
        return files[0] if len(files) == 1 else None

    def refusal(self, one: RegistryEval, file: Path | None) -> str | None:
        """Return why an eval cannot be a suite; None if it can."""
        if one.kind not in CLASSES:
            return f"its class {one.kind!r:.80} is code of its own"
        if file is None:
            return f"its samples {one.args.get('samples_jsonl')!r:.80} are in none of the files"
        if _first_line(file).startswith(_LFS):
            return "its samples are a pointer of git-lfs; download them with: git lfs pull"
        return None

    def rows(self, file: Path) -> Iterator[RegistrySample]:
        """Yield the samples of a file.

        Raises:
            DataError: the file cannot be read, or a line is no sample.
        """
        for row, place in _lines(file):
            if "input" not in row and "input1" not in row:
                raise PlacedError(place, "`$.input` is missing; a sample has one, and mostly an `ideal`.")
            yield RegistrySample(row, place)

    def completed(self, one: RegistryEval) -> RegistryEval:
        """Return the eval with its model-graded question and its examples, if it names any.

        Raises:
            DataError: the file of examples cannot be read.
        """
        shots = self._file(str(one.args["few_shot_jsonl"])) if one.args.get("few_shot_jsonl") else None
        rows = None if shots is None or _first_line(shots).startswith(_LFS) else [row for row, _ in _lines(shots)]
        return one._replace(graded=self.graded.get(str(one.args.get("modelgraded_spec"))), shots=rows)


def _first_line(file: Path) -> str:
    return next((line for _, line in numbered_lines(text_chunks(regular_file(file))) if line.strip()), "")


def _is_log(file: Path) -> bool:
    first = _first_line(file)
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


def _log(file: Path, registry: Registry, builder: ImportBuilder) -> None:
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
    mine = _samples_of_log(spec, registry)
    if not mine and len(registry.samples) > 1:
        builder.remark(f"{file}: it does not name its file of samples; its cases are made from the log.")
    _results(spec, samplings, about, mine, builder)
    builder.part(f"{file}: {len(samplings)} answers", "kept", "results of a run")


def _samples_of_log(spec: Data, registry: Registry) -> list[RegistrySample]:
    """Return the samples that a log refers to; empty if none are found."""
    usual = RegistryEval(str(spec.get("base_eval")), "", {}, "")
    file = registry.samples_of(registry.evals.get(str(spec.get("eval_name")), usual))
    return [] if file is None or _first_line(file).startswith(_LFS) else [*registry.rows(file)]


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
