"""A registry of openai/evals read: its evals and samples as a suite, its logs as runs."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalmark.documents import PlacedError, load_document, numbered_lines, parse_json, regular_file, text_chunks
from evalmark.exchange.folders import files_of, home_of
from evalmark.exchange.imported import Imported
from evalmark.exchange.moving import Moving, Wanted, read_side
from evalmark.exchange.results import REST, result_from

from .registry import BASIC, CLASSIFY, case_data, native_of

Data = dict[str, Any]
_SLOT = re.compile(r"\{(\w+)\}")
_SLOTS = {"input": "{{input}}", "completion": "{{output}}", "ideal": "{{expected}}"}
_CHECKS: Mapping[str, tuple[str, str]] = {
    f"{BASIC}match:Match": ("equals", "an output that only begins with the ideal answer does not pass here"),
    f"{BASIC}includes:Includes": ("contains", ""),
    f"{BASIC}json_match:JsonMatch": ("structured_output", ""),
    f"{BASIC}fuzzy_match:FuzzyMatch": ("contains", "punctuation and articles count here"),
}


def import_openai_registry(path: Path) -> Imported:
    """The evals, samples and logs in a folder laid out as a registry, or in one YAML or JSONL file of it.

    Raises:
        DataError: a file cannot be read, or there is none of the registry.
    """
    moving = Moving(name="imported registry", side=read_side(home_of(path)))
    specs, logs, rows = _sorted_out(path)
    samples = {file: _samples(file) for file in rows}
    for row in (row for found in samples.values() for row in found):
        moving.add(case_data(row))
        for key in [name for name in row if name not in ("input", "ideal", "id")]:
            moving.part(f"samples: {key}", "metadata", "with its case")
    specs.tell(moving)
    for file in logs:
        _log(file, samples, specs, moving)
    if not (moving.cases or moving.results):
        raise PlacedError(str(path), "holds no samples and no log of the openai/evals registry.")
    return moving.imported()


def _sorted_out(path: Path) -> tuple["_Specs", list[Path], list[Path]]:
    """What the YAML files say, the logs, and the files of samples."""
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
                raise PlacedError(f"{file}:{number}", "holds no object, as every line of a registry's JSONL does.")
            yield data, f"{file}:{number}"


def _samples(file: Path) -> list[Data]:
    found = []
    for row, place in _lines(file):
        if "input" not in row:
            raise PlacedError(place, "`$.input` is missing; a sample has one, and mostly an `ideal`.")
        found.append(row)
    return found


class _Specs:
    """The evals and the model-graded questions of a registry, by name."""

    def __init__(self) -> None:
        self.evals: dict[str, tuple[Data, str]] = {}
        self.graded: dict[str, tuple[Data, str]] = {}

    def read(self, file: Path) -> None:
        """Take what a YAML file names."""
        document = load_document(file)
        if not isinstance(document.data, dict):
            raise PlacedError(document.place_of(), "is no mapping from names to evals.")
        for name, said in document.data.items():
            place = document.place_of((name,))
            if isinstance(said, str):
                continue  # another name for an eval
            if not isinstance(said, dict):
                raise PlacedError(place, f"`{name}` is no mapping.")
            if "class" in said:
                self.evals[name] = (said, place)
            elif "prompt" in said and "choice_strings" in said:
                self.graded[name] = (said, place)

    def samples_of(self, spec: Data, samples: Mapping[Path, list[Data]]) -> list[Data]:
        """The samples that a log numbers: those that its eval names; none where several files might be meant."""
        said, _ = self.evals.get(str(spec.get("eval_name")), ({}, ""))
        args = said.get("args")
        name = str(args.get("samples_jsonl") or "") if isinstance(args, dict) else ""
        ending = f"/{name}" if name else f"/{spec.get('base_eval')}/samples.jsonl"
        found = [rows for file, rows in samples.items() if file.as_posix().endswith(ending) or len(samples) == 1]
        return found[0] if len(found) == 1 else []

    def tell(self, moving: Moving) -> None:
        """Note the metric of each eval, or why there is none."""
        for name, (said, place) in self.evals.items():
            kind, args = str(said["class"]), said.get("args")
            args = args if isinstance(args, dict) else {}
            self._add(name.split(".")[0], kind, args, f"{place} {name}", moving)
        if self.evals:
            moving.name = next(iter(self.evals)).split(".")[0]

    def _add(self, name: str, kind: str, args: Data, what: str, moving: Moving) -> None:
        if kind == CLASSIFY:
            wanted, why = _graded(name, self.graded.get(str(args.get("modelgraded_spec"))))
        elif kind in _CHECKS:
            scorer, why = _CHECKS[kind]
            ignore = bool(args.get("ignore_case")) or "fuzzy" in kind
            wanted = Wanted(name=name, scorer=scorer, settings={"ignore_case": True} if ignore else {})
        elif kind.startswith("evals.elsuite."):
            wanted, why = None, "no metric of ours does what this class does"
        else:
            moving.part(what, "refused", f"its class {kind!r:.60} is code of its own")
            return
        if wanted is None:
            moving.part(what, "left out", why)
            return
        moving.metrics.append(wanted)
        moving.part(what, "mapped", f"{wanted.scorer or 'a metric file'}{f'; {why}' if why else ''}")
        if args.get("num_few_shot"):
            moving.part(f"{what} few_shot", "left out", "examples before the question stand in a prompt here")


def _graded(name: str, found: tuple[Data, str] | None) -> tuple[Wanted | None, str]:
    if found is None:
        return None, "its `modelgraded_spec` is in none of the files"
    said = found[0]
    words, asked, scores = said.get("choice_strings"), said.get("prompt"), said.get("choice_scores")
    words = list(words) if isinstance(words, (str, list)) else []
    if not isinstance(asked, str) or len(words) < 2:
        return None, "its prompt is no text, or it has fewer than two choices"
    if not isinstance(scores, dict):
        return None, "it gives no score for its choices, so none passes"
    worths = {str(word): float(worth) for word in words if isinstance(worth := scores.get(word), (int, float))}
    if len(worths) < len(words) or not all(0 <= worth <= 1 for worth in worths.values()):
        return None, "a choice of it has no score from 0 to 1"
    unknown = [slot for slot in _SLOT.findall(asked.replace("{{", "").replace("}}", "")) if slot not in _SLOTS]
    if unknown:
        return None, f"its prompt takes {{{unknown[0]}}} from elsewhere"
    file = {
        "metric_description": name,
        "config": {"needs_history": False, "needs_example_output": "{ideal}" in asked},
        "score": {"type": "choice", "description": "the choice that fits", "choices": worths},
        "threshold": max(worths.values()),
        "template": _slots(asked),
    }
    return Wanted(name=name, file=file), "" if "{completion}" in asked else "its prompt does not show the output"


def _slots(asked: str) -> str:
    return (
        _SLOT.sub(lambda found: _SLOTS[found[1]], asked.replace("{{", "\1").replace("}}", "\2"))
        .replace("\1", "{")
        .replace("\2", "}")
    )


def _log(file: Path, samples: Mapping[Path, list[Data]], specs: "_Specs", moving: Moving) -> None:
    spec: Data = {}
    asked: list[tuple[str, Data, str]] = []
    about: dict[str, list[tuple[str, Data]]] = {}
    last: dict[str, str] = {}
    for row, place in _lines(file):
        if isinstance(row.get("spec"), dict):
            spec = row["spec"]
        elif isinstance(row.get("data"), dict) and isinstance(row.get("sample_id"), str):
            sample, kind = row["sample_id"], str(row.get("type"))
            if kind == "sampling":
                last[sample] = place
                asked.append((sample, row["data"], place))
            elif sample in last and kind in ("match", "error"):
                about.setdefault(last[sample], []).append((kind, row["data"]))
        elif "final_report" not in row:
            raise PlacedError(place, "is neither a spec, an event about a sample, nor a final report.")
    mine = specs.samples_of(spec, samples)
    if not mine and len(samples) > 1:
        moving.remark(f"{file}: which of the files of samples it is about is not said; its cases are as it shows them.")
    _results(spec, asked, about, mine, moving)
    moving.part(f"{file}: {len(asked)} answers", "mapped", "results of a run")


def _results(
    spec: Data,
    asked: list[tuple[str, Data, str]],
    about: Mapping[str, list[tuple[str, Data]]],
    samples: list[Data],
    moving: Moving,
) -> None:
    models = spec.get("completion_fns")
    target = str(models[0]) if isinstance(models, list) and models else ""
    dataset = moving.side.name if moving.side else str(spec.get("base_eval") or moving.name)
    created = spec.get("created_at")
    moving.created = moving.created or (created if isinstance(created, str) else "")
    for number, (sample, data, place) in enumerate(asked):
        events = about.get(place, [])
        matches = [said for kind, said in events if kind == "match"]
        error = next((said for kind, said in events if kind == "error"), None)
        native = native_of(_sample(sample, samples), data, matches, error)
        native["trial"] = {"dataset": dataset, "target": target, "position": number, "repeat": 0, "mode": "single"}
        moving.results.append(result_from(native, data.get(REST), place))


def _sample(name: str, samples: list[Data]) -> Data | None:
    """The sample that an event is about: its number stands at the end of its name."""
    number = name.rpartition(".")[2]
    at = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else len(samples)
    return samples[at] if at < len(samples) else None
