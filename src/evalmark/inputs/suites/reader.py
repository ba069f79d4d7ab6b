"""Read suite files strictly and report all faults at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evalmark.core.errors import ConfigError, DataError
from evalmark.core.foreign.named_objects import is_named_object
from evalmark.core.lazy import LazyModule
from evalmark.core.values.run import Gate
from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import allowed_path, dataset_name
from evalmark.inputs.documents.findings import json_excerpt

from .models import judges_of, target_of
from .schema import SuiteFault, dotted_path, schema_faults, text_keys
from .suite import (
    SESSIONS_PREFIX,
    DatasetSpec,
    JudgeSpec,
    MetricKind,
    MetricSpec,
    Suite,
    SuiteTarget,
)

if TYPE_CHECKING:
    from . import services
else:  # most suites name neither a service nor a command
    services = LazyModule("evalmark.inputs.suites.services")

METRIC_ENDINGS = (".json", ".yaml", ".yml", ".prompty")
"""The endings of metric files."""


_DATASET = "this is a dataset; name it in a suite, under `datasets`."
_ROWS = frozenset((".jsonl", ".ndjson", ".csv", ".tsv"))
"""Endings of files that hold rows, never a suite."""


def read_suite(path: Path, cwd: Path | None = None) -> Suite:
    """Read the suite in a YAML or JSON file, which may be a Tiamat test file.

    Args:
        path: the suite file. Files that it names are searched in its folder, then in the working directory.
        cwd: the working directory; None: the current one.

    Raises:
        ConfigError: the file cannot be read or is invalid; the message names all faults, one a line.
    """
    if path.suffix.lower() in _ROWS and path.is_file():
        raise DataError(f"{path}: {_DATASET}")
    document = load_document(path, is_text=text_keys().__contains__)
    if hint := _other_file_hint(document.data):
        raise DataError(f"{document.place_of()}: {hint}")
    findings, sound = schema_faults(_normalized(document.data))
    reading = _SuiteReader(document=document, cwd=cwd or Path.cwd(), notes=list(document.notes), findings=findings)
    suite = reading.suite(sound)
    if findings:
        raise ConfigError.of([f"{document.place_of(at)}: {sentence}" for at, sentence in _in_order(findings, document)])
    return suite


def _in_order(findings: list[SuiteFault], document: Document) -> list[SuiteFault]:
    """Sort faults by line."""

    def place(finding: SuiteFault) -> tuple[int, list[str]]:
        at = finding.at
        line = next((n for end in range(len(at), 0, -1) if (n := document.lines.get(at[:end]))), 1)
        return line, [str(part) for part in at]

    return sorted(findings, key=place)


def _normalized(data: Any) -> Any:
    """Remove keys without a value at the top and in the gate, and make lists of single items."""
    if not isinstance(data, Mapping):
        return data
    cleaned = {key: value for key, value in data.items() if value is not None}
    if isinstance(gate := cleaned.get("gate"), Mapping):
        cleaned["gate"] = {key: value for key, value in gate.items() if value is not None}
    for key in ("datasets", "metrics", "judge"):
        if isinstance(cleaned.get(key), (str, Mapping)):
            cleaned[key] = [cleaned[key]]
    return cleaned


def _other_file_hint(data: Any) -> str | None:
    """Return a hint if the file is something else than a suite."""
    if isinstance(data, list):
        return "this is a list, perhaps a dataset; a suite is a mapping that names it under `datasets`."
    if not isinstance(data, Mapping):
        return f"this is {json_excerpt(data)}; a suite is a mapping with `datasets` and `metrics`."
    if "datasets" in data or "metrics" in data:
        return None
    if "metric_description" in data:
        return "this is a metric; name it in a suite, under `metrics`."
    if isinstance(data.get("data"), list):
        return _DATASET
    if isinstance(data.get("messages"), list):
        return (
            "this seems to be a prompt of GitHub Models; let its name end in .prompt.yml, so that it is run as one, "
            "or name it in a suite: target: {prompt: FILE}."
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SuiteReader:
    """Builds one suite from data that was checked against the schema."""

    document: Document
    cwd: Path
    notes: list[str]
    findings: list[SuiteFault]

    def suite(self, data: Mapping[str, Any]) -> Suite:
        """Build the suite; it is valid only if there are no faults."""
        items = list(data.get("metrics") or ())
        metrics = tuple(self._metrics(items))
        if items and all(items) and all(metric.kind == "name" for metric in metrics):
            # Objects and files may have scores with other names; the gate is then checked when they are loaded.
            self._check_thresholds(data, [metric.label for metric in metrics])
        gate = data.get("gate")
        return Suite(
            name=data.get("name") or _default_suite_name(self.document.path),
            path=self.document.path,
            datasets=tuple(self._datasets(list(data.get("datasets") or ()), data.get("cluster") or "")),
            metrics=metrics,
            target=self._targets(data.get("target")),
            target_place=self.document.place_of(("target",)) if "target" in data else "",
            repeat=int(data.get("repeat", 1)),
            gate=None if gate is None else _gate(gate),
            gate_flags=(gate or {}).get("flags", False),
            cluster=data.get("cluster") or "",
            until_decided=data.get("until_decided", False),
            baseline=data.get("baseline"),
            lock=self._lock(data["lock"]) if data.get("lock") else None,
            judges=self._judges(("judge",), data.get("judge")),
            embeddings=data.get("embeddings"),
            timeout=None if (seconds := data.get("timeout")) is None else float(seconds),
            notes=tuple(self.notes),
        )

    def _find(self, at: DataPath, finding: str) -> None:
        # The name of a file can hold characters that a terminal does not show, such as a soft hyphen.
        visible = "".join(one if one.isprintable() else repr(one)[1:-1] for one in finding)
        self.findings.append(SuiteFault(at, f"`{dotted_path(at)}` {visible}"))

    def _lock(self, text: str) -> Path | None:
        """Return the lock file, which need not exist yet: `evalmark calibrate` writes it."""
        in_suite_folder = self.document.path.parent / text
        try:
            allowed_path(text, self.document.path.parent, self.cwd)
        except PlacedError as fault:
            if fault.message.startswith("there is no such file"):
                return in_suite_folder
        except OSError:  # reported with its place below
            pass
        return self._file(("lock",), text)

    def _file(self, at: DataPath, text: str) -> Path | None:
        """Return a file that the suite names; on failure, add a fault and return None."""
        folder = self.document.path.parent
        try:
            path = allowed_path(text, folder, self.cwd)
        except PlacedError as fault:
            joint = ":" if fault.message.startswith("there") else ", which"
            self._find(at, f"names {json_excerpt(text)}{joint} {fault.message}")
            return None
        except OSError as error:  # such as a name that is too long for the file system
            self._find(at, f"names {json_excerpt(text)}, which cannot be opened: {error.strerror}.")
            return None
        if path == self.cwd / text and path.absolute() != (folder / text).absolute():
            place = self.document.place_of(at)
            self.notes.append(
                f"{place}: {text} is not in the folder of the suite; the one in the working directory is used."
            )
        return path

    def _datasets(self, items: list[Any], cluster: str) -> Iterator[DatasetSpec]:
        rows = [{"path": item} if isinstance(item, str) else item or {"path": ""} for item in items]
        stems = [_default_dataset_name(row.get("path", "")) for row in rows]
        called: dict[str, str] = {}
        for number, (row, stem) in enumerate(zip(rows, stems, strict=True)):
            if not (text := row.get("path")):
                continue
            at: DataPath = ("datasets", number)
            name = row.get("name") or (stem if stems.count(stem) == 1 else text)
            self._check_name(at, name, called)
            options = {key: value for key, value in row.items() if key not in ("path", "name", "cluster")}
            if text.startswith(SESSIONS_PREFIX):
                if options:
                    self._find(
                        at,
                        f"names recorded sessions, for which only a `name` can be set, not {json_excerpt(next(iter(options)))}.",
                    )
                if not text.removeprefix(SESSIONS_PREFIX).strip():
                    self._find(at, f"names no project; write {SESSIONS_PREFIX}NAME.")
                place, project = self.document.place_of(at), text.removeprefix(SESSIONS_PREFIX).strip()
                spec = DatasetSpec(path=Path(text), name=name, place=place, project=project)
            elif (path := self._file(at, text)) is not None:
                place = self.document.place_of(at)
                spec = DatasetSpec(path=path, name=name, options=options, place=place)
            else:
                continue
            yield replace(spec, named="name" in row, cluster=row.get("cluster") or cluster)

    def _metrics(self, items: list[Any]) -> Iterator[MetricSpec]:
        called: dict[str, str] = {}
        for number, item in enumerate(items):
            if not item:
                continue
            at: DataPath = ("metrics", number)
            name, options = (item, None) if isinstance(item, str) else next(iter(item.items()))
            settings = dict(options or {})
            threshold, judge = settings.pop("threshold", None), settings.pop("judge", None)
            repeat = settings.pop("repeat", None)
            metric = MetricSpec(
                name=name,
                kind=(kind := _kind(name)),
                settings=settings,
                threshold=None if threshold is None else float(threshold),
                judges=self._judges((*at, name, "judge"), judge),
                repeat=None if repeat is None else int(repeat),
                path=self._file(at, name) if kind == "file" else None,
                place=self.document.place_of(at),
            )
            self._check_name(at, metric.label, called)
            yield metric

    def _check_name(self, at: DataPath, name: str, called: dict[str, str]) -> None:
        """Refuse duplicate names, since reports identify items by name."""
        if name in called:
            self._find(
                at, f"is called {json_excerpt(name)}, and so is {called[name]}; give one of them another `name`."
            )
        called.setdefault(name, f"the one at {self.document.place_of(at)}")

    def _judges(self, at: DataPath, value: Any) -> tuple[JudgeSpec, ...]:
        return judges_of(at, value, self.document.place_of, self._find)

    def _targets(self, target: Any) -> SuiteTarget | tuple[SuiteTarget, ...] | None:
        """Read the target, or a list of several; a list of one is that one."""
        if not isinstance(target, list):
            return self._target(target, ("target",))
        read = [self._target(item, ("target", number)) for number, item in enumerate(target)]
        targets = tuple(one for one in read if one is not None)
        return targets[0] if len(targets) == 1 else targets

    def _target(self, target: Any, at: DataPath) -> SuiteTarget | None:
        if isinstance(target, Mapping):
            folders = (self.document.path.parent, self.cwd)
            if "http" in target:
                return services.http_of(target, at, self.document.place_of, self._find)
            if "command" in target:
                return services.command_of(target, at, folders, self.document.place_of, self._find)
            is_faulty = any(finding.at[: len(at)] == at for finding in self.findings)
            return target_of(target, at, folders, self.document.place_of, self._find, is_faulty=is_faulty)
        if isinstance(target, list):
            self._find(at, "is a list in a list; put its targets into the outer one.")
            return None
        if target is not None:
            self._check_object(target, at)
        return cast("str | None", target)

    def _check_object(self, name: str, at: DataPath) -> None:
        module, _, attribute = name.partition(":")
        plain = module.removesuffix(".py").replace("/", ".").strip(".")
        if not is_named_object(name) or plain != module:
            better = f"{plain}:{attribute}"
            advice = (
                f"write {json_excerpt(better)}" if is_named_object(better) else "write it as 'package.module:attribute'"
            )
            self._find(at, f"is {json_excerpt(name)}, which names no Python object; {advice}.")

    def _check_thresholds(self, data: Mapping[str, Any], names: list[str]) -> None:
        for name in (data.get("gate") or {}).get("thresholds") or {}:
            if name not in names:
                close = get_close_matches(name, names, n=1)
                advice = f"did you mean `{close[0]}`?" if close else f"the metrics are {', '.join(names)}."
                self._find(("gate", "thresholds", name), f"is not a metric of this suite; {advice}")


def _default_dataset_name(text: str) -> str:
    """Return the default name of a dataset: that of its file or project."""
    return text.removeprefix(SESSIONS_PREFIX).strip() if text.startswith(SESSIONS_PREFIX) else dataset_name(Path(text))


def _gate(gate: Mapping[str, Any]) -> Gate:
    rate, score = gate.get("min_pass_rate"), gate.get("min_score")
    return Gate(
        min_pass_rate=None if rate is None else float(rate),
        min_score=None if score is None else float(score),
        max_unscored=int(gate.get("max_unscored", 0)),
        max_errors=int(gate.get("max_errors", 0)),
        thresholds={name: float(limit) for name, limit in (gate.get("thresholds") or {}).items()},
    )


def _default_suite_name(path: Path) -> str:
    """Return the default name of a suite: the file's name up to the first dot."""
    return path.name.split(".")[0] or path.name


def _kind(name: str) -> MetricKind:
    if name.lower().endswith(METRIC_ENDINGS):
        return "file"
    return "object" if is_named_object(name) else "name"
