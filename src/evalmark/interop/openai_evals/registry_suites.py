"""Convert an eval of the registry, with its samples, to a suite; classes without an exact equivalent are left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.items import dict_or_empty, list_or_empty

from .registry_exporter import BASIC, CLASSIFIER, CLASSIFY, MATCH, case_data, is_message
from .registry_scorers import EVAL_TYPES, slots_of, worths_of

Data = dict[str, Any]
_NAMED_ROLES = {"example_user": "user", "example_assistant": "assistant"}
REWORDED = "the judge is told in evalmark's words how to reply"
"""How an eval with an `eval_type` differs: the instruction that it adds to the question."""
_SETTINGS = ("temperature", "max_tokens", "top_p", "seed", "stop")
"""Settings of requests that `sample_kwargs` and `eval_kwargs` may have."""


class RegistrySample(NamedTuple):
    """A line of a file of samples."""

    data: Data
    place: str


class RegistryEval(NamedTuple):
    """One eval of the registry."""

    name: str
    kind: str
    """Its class."""
    args: Data
    place: str
    graded: Data | None = None
    """The model-graded question, for classes that have one."""
    shots: Sequence[Data] | None = None
    """The rows of the file of examples that are shown before each question; None if there is no such file."""


class _NotMappedError(Exception):
    """The eval has no equivalent; the text has the reason."""


def suite_of(evals: Sequence[RegistryEval], samples: Iterable[RegistrySample]) -> ImportBuilder:
    """Convert evals with the same samples to a suite, with the outcome of each part."""
    builder = ImportBuilder(name=evals[0].name if evals else "imported registry")
    rows = [*samples]
    shots: list[Data] = []
    outcomes: list[tuple[RegistryEval, list[MetricDraft], list[str]]] = []
    for one in evals:
        try:
            drafts, changes = _metrics(one, rows)
            shots = shots or _shots(one)
        except _NotMappedError as why:
            builder.part(one.place, "left out", str(why))
            continue
        builder.metrics += drafts
        builder.settings |= _target_settings(one)
        outcomes.append((one, drafts, changes))
    if outcomes or not evals:
        is_judged = any(one.kind == CLASSIFY for one, _, _ in outcomes)
        changed = _add(rows, shots, builder, answered=is_judged and _has_outputs(rows))
        for one, drafts, changes in outcomes:
            metric = " and ".join(draft.scorer.rpartition(":")[2] for draft in drafts)
            differences = [*changes, *changed]
            how = "; ".join([metric, *differences])
            builder.part(one.place, "changed" if differences else "kept", how)
    return builder


def _add(rows: Sequence[RegistrySample], shots: Sequence[Data], builder: ImportBuilder, *, answered: bool) -> list[str]:
    """Add the samples as cases, and return how their requests differ from the registry's."""
    changes: dict[str, None] = {}
    examples = _messages([*shots]) or []
    for row in rows:
        content = row.data.get("input")
        messages = _question(content)
        if messages is None:
            builder.part(f"{row.place} input", "left out", "its `input` is neither a text nor messages with texts")
            continue
        if isinstance(content, str) and not answered:
            changes["a text is sent as the user's message, and not as the system message"] = None
        if not answered and any("name" in message for message in (*list_or_empty(content), *shots)):
            changes["the `name` of a message is not sent; example_user and example_assistant are roles"] = None
        shown = [*messages[:-1], *examples, messages[-1]]
        case = case_data({**row.data, "input": content if isinstance(content, str) else shown})
        answer = row.data.get("completion")
        builder.cases.append({**case, "answer": answer} if answered and isinstance(answer, str) else case)
    return [*changes]


def _messages(content: Any) -> list[Data] | None:
    """Return messages with a role and a text alone; None if a sample has something else."""
    found = [
        {"role": _NAMED_ROLES.get(str(one.get("name")), one.get("role")), "content": one.get("content")}
        for one in (content if isinstance(content, list) else ())
        if isinstance(one, dict)
    ]
    is_whole = isinstance(content, list) and len(found) == len(content)
    return found if is_whole and all(is_message(one) and isinstance(one["content"], str) for one in found) else None


def _question(content: Any) -> list[Data] | None:
    """Return the messages of a sample's input, which end with what is asked; None if it has something else."""
    if isinstance(content, str):
        return [{"role": "user", "content": content}]
    messages = _messages(content)
    return messages if messages and messages[-1]["role"] in ("user", "system") else None


def _shots(one: RegistryEval) -> list[Data]:
    """Return the messages of the examples that are shown before each question."""
    number = one.args.get("num_few_shot") or 0
    if not number:
        return []
    if one.shots is None:
        raise _NotMappedError(f"its examples {one.args.get('few_shot_jsonl')!r:.80} are in none of the files")
    found = [message for row in one.shots[: int(number)] for message in row.get("sample") or ()]
    if _messages(found) is None:
        raise _NotMappedError("its examples are not messages with texts")
    return found


def _has_outputs(rows: Sequence[RegistrySample]) -> bool:
    """Tell whether the samples have the outputs to judge, so that no model is asked."""
    return bool(rows) and all(isinstance(row.data.get("completion"), str) for row in rows)


def _target_settings(one: RegistryEval) -> Data:
    """Return the settings with which a class asks the model under test."""
    if one.kind == CLASSIFY:
        return {"temperature": 0, "max_tokens": 1024, **_kwargs(one, "sample_kwargs")}
    if one.kind == f"{BASIC}includes:Includes":
        return {}
    limits = {f"{BASIC}fuzzy_match:FuzzyMatch": 100, f"{BASIC}json_match:JsonMatch": 512}
    limit = one.args.get("max_tokens", limits[one.kind]) if one.kind in limits else None
    return {"temperature": 0} | ({"max_tokens": limit} if limit is not None else {})


def _kwargs(one: RegistryEval, key: str) -> Data:
    found = dict_or_empty(one.args.get(key))
    if unknown := [name for name in found if name not in _SETTINGS]:
        raise _NotMappedError(f"its `{key}` has {unknown[0]!r:.40}, which evalmark does not send")
    return found


def _metrics(one: RegistryEval, rows: Sequence[RegistrySample]) -> tuple[list[MetricDraft], list[str]]:
    """Return the metrics of an eval, and how they differ from the registry's."""
    known = (*_ARGS, *_KNOWN_ARGS.get(one.kind, ()))
    if unknown := [key for key, value in one.args.items() if key not in known and value]:
        raise _NotMappedError(f"its argument `{unknown[0]}` changes what it asks or how it judges")
    if one.kind == CLASSIFY:
        return _classifier(one, rows)
    if one.kind != f"{BASIC}json_validator:JsonValidator" and (row := next(_without_ideal(rows), None)):
        raise _NotMappedError(f"the `ideal` of a sample is neither a text nor a list of texts, in {row.place}")
    if one.kind == f"{BASIC}includes:Includes" and not any("" in _ideals(row) for row in rows):
        settings = {"ignore_case": True} if one.args.get("ignore_case") else {}
        return [MetricDraft(name=one.name, scorer="contains", settings=settings)], []
    kinds = _KINDS[one.kind]
    ignore = {"ignore_case": True} if one.args.get("ignore_case") else {}
    names = [one.name, *(f"{one.name} {kind}" for kind in kinds[1:])]
    return [
        MetricDraft(name=name, scorer=MATCH, settings={"kind": kind, **ignore})
        for name, kind in zip(names, kinds, strict=True)
    ], []


def _ideals(row: RegistrySample) -> list[Any]:
    ideal = row.data.get("ideal")
    return ideal if isinstance(ideal, list) else [] if ideal is None else [ideal]


def _without_ideal(rows: Sequence[RegistrySample]) -> Iterator[RegistrySample]:
    for row in rows:
        ideals = _ideals(row)
        if not ideals or not all(isinstance(text, str) for text in ideals):
            yield row


def _classifier(one: RegistryEval, rows: Sequence[RegistrySample]) -> tuple[list[MetricDraft], list[str]]:
    """Return the metric of a model-graded eval."""
    question = _checked_question(one)
    changes = [REWORDED] if one.args.get("eval_type") else []
    if one.args.get("metaeval"):
        changes.append("`choice` is in the metadata, and is not compared with the judge's")
    if not _has_outputs(rows) and (row := next((row for row in rows if "completion" in row.data), None)):
        raise _NotMappedError(f"some samples have the output to judge, such as {row.place}, and others do not")
    args = dict_or_empty(one.args.get("modelgraded_spec_args"))
    slots = slots_of(question["prompt"]) - args.keys() - {"input", "completion"}
    if row := next((row for row in rows if not slots <= row.data.keys()), None):
        raise _NotMappedError(f"its question shows {{{min(slots - row.data.keys())}}}, which is not in {row.place}")
    spec = {key: question[key] for key in ("prompt", "choice_strings", "choice_scores", "eval_type") if key in question}
    more = {
        "eval_type": one.args.get("eval_type"),
        "args": args,
        "match_fn": one.args.get("match_fn"),
    }
    settings = {"temperature": 0, "max_tokens": 1024, **_kwargs(one, "eval_kwargs")}
    draft = MetricDraft(
        name=one.name,
        scorer=CLASSIFIER,
        settings={"spec": spec, **{key: value for key, value in more.items() if value}, "settings": settings},
    )
    return [draft], changes


def _checked_question(one: RegistryEval) -> Data:
    """Return the question of a model-graded eval, if evalmark can ask it."""
    if one.graded is None:
        raise _NotMappedError("its `modelgraded_spec` is in none of the files")
    try:
        worths = worths_of(one.graded)
    except ValueError as error:
        raise _NotMappedError(str(error)) from None
    if len(worths) < 2:
        raise _NotMappedError("its question has fewer than two choices")
    if one.graded.get("input_outputs", {"input": "completion"}) != {"input": "completion"}:
        raise _NotMappedError("its question compares several outputs, or asks for another part of the samples")
    if one.args.get("multicomp_n", 1) != 1:
        raise _NotMappedError("it shows the judge several outputs at once")
    if (eval_type := str(one.args.get("eval_type") or "")) not in ("", *EVAL_TYPES):
        raise _NotMappedError(f"its `eval_type` is {eval_type!r:.40}")
    return one.graded


_ARGS = ("samples_jsonl", "max_tokens", "num_few_shot", "few_shot_jsonl")
"""Arguments of every class that are read elsewhere."""
_KINDS: Mapping[str, Sequence[str]] = {
    f"{BASIC}match:Match": ("match",),
    f"{BASIC}includes:Includes": ("includes",),
    f"{BASIC}fuzzy_match:FuzzyMatch": ("fuzzy_match", "f1_score"),
    f"{BASIC}json_match:JsonMatch": ("json_match",),
    f"{BASIC}json_validator:JsonValidator": ("json_validator",),
}
"""The kinds of `RegistryMatch` that give the metrics of a basic class."""
_KNOWN_ARGS: Mapping[str, Sequence[str]] = {
    f"{BASIC}includes:Includes": ("ignore_case",),
    CLASSIFY: (
        "modelgraded_spec",
        "modelgraded_spec_args",
        "eval_type",
        "match_fn",
        "metaeval",
        "multicomp_n",
        "sample_kwargs",
        "eval_kwargs",
    ),
}
"""Further arguments that are converted."""
CLASSES = (*_KINDS, CLASSIFY)
"""The classes that have an exact equivalent."""
