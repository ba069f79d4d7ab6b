"""Convert registry evals with the same samples to a suite; classes without an exact equivalent are left out."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalmark.core.errors import DataError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.interop.shared.assertions import KEY
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft

from .registry_exporter import BASIC, CLASSIFY, case_data, is_message

Data = dict[str, Any]
_SLOT = re.compile(r"\{(\w+)\}")
_SLOTS = {"input": "{{input}}", "completion": "{{output}}", "ideal": "{{expected}}"}
_ARGS = ("samples_jsonl", "max_tokens")
"""Arguments of every class that have no effect here: the samples' file, and the maximum length of outputs."""


class RegistrySample(NamedTuple):
    """A line of a file of samples."""

    data: Data
    place: str

    @property
    def ideals(self) -> list[Any]:
        """The correct answers."""
        ideal = self.data.get("ideal")
        return ideal if isinstance(ideal, list) else [] if ideal is None else [ideal]


class RegistryEval(NamedTuple):
    """One eval of the registry."""

    name: str
    kind: str
    """Its class."""
    args: Data
    place: str
    graded: Data | None = None
    """The model-graded question, for classes that have one."""


class _NotMappedError(Exception):
    """The eval has no equivalent metric; the text has the reason."""


def suite_of(evals: Sequence[RegistryEval], samples: Sequence[RegistrySample]) -> ImportBuilder:
    """Convert evals with the same samples to a suite, with the outcome of each part."""
    builder = ImportBuilder(name=evals[0].name if evals else "imported registry")
    usable = [sample for sample in samples if _is_sendable(sample, builder)]
    row_checks: list[list[Data]] = [[] for _ in usable]
    for one in evals:
        try:
            _check_args(one)
            draft, checks = READERS[one.kind](one, usable)
        except _NotMappedError as why:
            builder.part(one.place, "left out", str(why))
            continue
        for row, check in zip(row_checks, checks, strict=bool(checks)):
            row.append(check)
        if draft is not None:
            builder.metrics.append(draft)
        metric = "a metric file" if draft and draft.file else draft.scorer if draft else "regex, for each case"
        builder.part(one.place, "kept", metric)
    _add(usable, row_checks, builder)
    return builder


def _add(samples: Sequence[RegistrySample], row_checks: Sequence[Sequence[Data]], builder: ImportBuilder) -> None:
    """Add the samples as cases, each with its own checks."""
    for sample, checks in zip(samples, row_checks, strict=True):
        row = case_data(sample.data)
        builder.add({**row, "metadata": {**row.get("metadata", {}), KEY: [*checks]}} if checks else row)
        for key in [name for name in sample.data if name not in ("input", "ideal", "id")]:
            builder.part(f"samples: {key}", "kept", "in the metadata of its case")
    if any(row_checks):
        builder.metrics.append(MetricDraft(name="assertions", scorer="evalmark.scorers:Assertions"))


def _is_sendable(sample: RegistrySample, builder: ImportBuilder) -> bool:
    """Return whether a suite can send a sample unchanged: a text, or messages that end with one of the user."""
    content = sample.data["input"]
    if isinstance(content, str):
        return True
    is_chat = isinstance(content, list) and bool(content) and all(map(is_message, content))
    if is_chat and content[-1]["role"] == "user" and all(isinstance(m["content"], str) for m in content):
        return True
    why = (
        "its messages do not end with one of the user"
        if is_chat
        else "its `input` is neither a text nor plain messages"
    )
    builder.part(f"{sample.place} input", "left out", f"{why}, so a suite would send it in another form")
    return False


def _check_args(one: RegistryEval) -> None:
    supported = (*_ARGS, *_KNOWN_ARGS.get(one.kind, ()))
    if unknown := [key for key, value in one.args.items() if key not in supported and value]:
        raise _NotMappedError(
            f"its argument `{unknown[0]}` changes what it asks or how it judges, which evalmark does not support"
        )


Found = tuple[MetricDraft | None, Sequence[Data]]
"""The metric, or the checks of each row."""


def _match(one: RegistryEval, samples: Sequence[RegistrySample]) -> Found:
    """Convert `Match`: an output passes if it begins with an ideal answer."""
    checks = []
    for sample in samples:
        pattern = "|".join(re.escape(text) for text in _texts(sample))
        checks.append({"regex": {"pattern": f"^(?:{pattern})", "name": one.name}})
    return None, checks


def _includes(one: RegistryEval, samples: Sequence[RegistrySample]) -> Found:
    if any(not text.strip() for sample in samples for text in _texts(sample)):
        raise _NotMappedError("an ideal answer of its samples is blank, and every output includes it")
    settings = {"ignore_case": True} if one.args.get("ignore_case") else {}
    return MetricDraft(name=one.name, scorer="contains", settings=settings), ()


def _json_match(one: RegistryEval, samples: Sequence[RegistrySample]) -> Found:
    for sample in samples:
        for text in _texts(sample):
            try:
                data = parse_json(text, sample.place)
            except DataError:
                raise _NotMappedError(f"an ideal answer is not JSON, in {sample.place}") from None
            if any(part is None or isinstance(part, bool) for part in _parts(data)):
                raise _NotMappedError(
                    f"an ideal answer has null or a boolean, which the registry compares differently, in {sample.place}"
                )
    settings = {"allow_extras": False, "error_field": None}
    return MetricDraft(name=one.name, scorer="structured_output", settings=settings), ()


def _parts(data: Any) -> Iterator[Any]:
    yield data
    for item in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _parts(item)


def _texts(sample: RegistrySample) -> list[str]:
    if not sample.ideals or not all(isinstance(text, str) for text in sample.ideals):
        raise _NotMappedError(f"the `ideal` of a sample is neither a text nor a list of texts, in {sample.place}")
    return sample.ideals


def _graded(one: RegistryEval, samples: Sequence[RegistrySample]) -> Found:
    """Convert a model-graded eval; it has a threshold only if all choices are worth 0 or 1."""
    if one.graded is None:
        raise _NotMappedError("its `modelgraded_spec` is in none of the files")
    question, worths = one.graded.get("prompt"), _worths(one.graded)
    if not isinstance(question, str):
        raise _NotMappedError("its prompt is not a text")
    _check_shown(one.graded, question, samples)
    file: Data = {
        "metric_description": one.name,
        "config": {"needs_history": False, "needs_example_output": "{ideal}" in question},
        "score": {"type": "choice", "description": "the choice that fits", "choices": worths},
        "template": _slots(question),
    }
    if set(worths.values()) == {0.0, 1.0}:
        file["threshold"] = 1.0
    return MetricDraft(name=one.name, file=file), ()


def _worths(graded: Mapping[str, Any]) -> dict[str, float]:
    """Return the value of each choice."""
    words, scores = graded.get("choice_strings"), graded.get("choice_scores")
    words = [] if words in ("from_n", "from_n_abc", "from_n_ABC") else words
    words = list(words) if isinstance(words, (str, list)) else []
    if len(words) < 2:
        raise _NotMappedError("it has fewer than two choices")
    if not isinstance(scores, dict):
        raise _NotMappedError("it gives no score for its choices, so none passes")
    worths = {str(word): float(worth) for word in words if isinstance(worth := scores.get(word), (int, float))}
    if len(worths) < len(words) or not all(0 <= worth <= 1 for worth in worths.values()):
        raise _NotMappedError("one of its choices has no score from 0 to 1")
    return worths


def _check_shown(graded: Mapping[str, Any], question: str, samples: Sequence[RegistrySample]) -> None:
    """Refuse a question that would show the judge something else here."""
    slots = _SLOT.findall(question.replace("{{", "").replace("}}", ""))
    unknown = [slot for slot in slots if slot not in _SLOTS]
    if unknown:
        raise _NotMappedError(f"its prompt takes {{{unknown[0]}}} from elsewhere")
    if "completion" not in slots:
        raise _NotMappedError("its prompt does not show the output")
    if graded.get("input_outputs", {"input": "completion"}) != {"input": "completion"}:
        raise _NotMappedError("it compares several outputs, or asks for another part of the samples")
    for sample in samples:
        if "completion" in sample.data:
            raise _NotMappedError(f"a sample contains the answer to judge, so no model is called, in {sample.place}")
        if "ideal" in slots and len(sample.ideals) > 1:
            raise _NotMappedError(
                f"its prompt shows all ideal answers of a sample, and evalmark would show only one, in {sample.place}"
            )
        if "input" in slots and not isinstance(sample.data["input"], str) and len(sample.data["input"]) > 1:
            raise _NotMappedError(
                f"its prompt shows all messages, and evalmark would show only the last one, in {sample.place}"
            )


def _slots(question: str) -> str:
    return (
        _SLOT.sub(lambda found: _SLOTS[found[1]], question.replace("{{", "\1").replace("}}", "\2"))
        .replace("\1", "{")
        .replace("\2", "}")
    )


READERS: Mapping[str, Callable[[RegistryEval, Sequence[RegistrySample]], Found]] = {
    f"{BASIC}match:Match": _match,
    f"{BASIC}includes:Includes": _includes,
    f"{BASIC}json_match:JsonMatch": _json_match,
    CLASSIFY: _graded,
}
"""The classes that have an exact equivalent."""
_KNOWN_ARGS: Mapping[str, Sequence[str]] = {
    f"{BASIC}includes:Includes": ("ignore_case",),
    CLASSIFY: ("modelgraded_spec", "eval_type"),
}
"""Further arguments that are converted, or that only set the judge's reply format."""
