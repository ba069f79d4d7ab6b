"""Masks secrets in a result before it is stored."""

from dataclasses import replace
from typing import Any

from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Result, Score
from evalmark.core.values.words import count
from evalmark.inputs.secrets.fields import MASK
from evalmark.inputs.secrets.masks import map_texts, mask_secrets, mask_secrets_in_data
from evalmark.storage.database.field_specs import CASE, OUTPUT, SCORE, output_fields
from evalmark.storage.database.fields import dump_fields, load_fields
from evalmark.storage.database.secret_scan import may_hold_secrets


def masked_result(result: Result) -> Result:
    """Return the result without secrets, or the result itself if it holds none.

    A masked output is marked, because no scorer can score it again. The case keeps its original fingerprint.
    """
    case, output, scores = result.trial.case, result.output, result.scores
    if not may_hold_secrets(case, output, scores):
        return result
    told = {
        "case": dump_fields(case, CASE),
        "place": case.place,
        "output": output_fields(output),
        "scores": [dump_fields(score, SCORE) for score in scores],
    }
    left = mask_secrets_in_data(told)
    left = {**left, "output": _raised(left["output"]), "scores": [*map(_raised, left["scores"])]}
    changed = left["output"] != told["output"] or left["case"] != told["case"] or _is_marked(told)
    if left == told and not changed:
        return result
    said: Output = load_fields(Output, OUTPUT, left["output"])
    return Result(
        trial=replace(result.trial, case=_case(case, told, left)),
        output=replace(said, masked=output.masked or changed),
        scores=tuple(load_fields(Score, SCORE, score) for score in left["scores"]),
    )


def _raised(data: dict[str, Any]) -> dict[str, Any]:
    """Mask everything in the text of an exception that may be a secret: no scorer reads such texts."""
    name, beside = ("reason", "detail") if data.get("status") == "error" else ("error", "metadata")
    left = {**data, **({name: mask_secrets(data[name])} if name in data else {})}
    if "traceback" in left.get(beside, ()):
        left[beside] = {**left[beside], "traceback": map_texts(left[beside]["traceback"], mask_secrets)}
    return left


def masked_id(text: str) -> str:
    """Return the id of a case as it is stored. Two ids that differ only in a secret stay different.

    >>> masked_id("case-1"), masked_id("https://ann:pa55word@host/")[:-6]
    ('case-1', 'https://ann:(not kept)@host/-')
    """
    found = mask_secrets(text, careful=True)
    return text if found == text else f"{found}-{fingerprint('id', text)[:6]}"


def masked_results_note(results: int) -> tuple[str, ...]:
    """Return the note of a run with this many results that contain a secret."""
    whom = "it" if results == 1 else "them"
    said = (
        f"{count(results, 'result')} {'contains' if results == 1 else 'contain'} a secret, which is masked as {MASK!r}; "
        f"`evalmark rescore` leaves {whom} unscored."
    )
    return (said,) if results else ()


def _case(case: Case, told: dict[str, Any], left: dict[str, Any]) -> Case:
    if left["case"] == told["case"] and left["place"] == told["place"]:
        return case
    found: Case = load_fields(Case, CASE, {**left["case"], "id": masked_id(case.id)})
    return replace(found, place=left["place"], original=case.fingerprint)


def _is_marked(told: dict[str, Any]) -> bool:
    """Return whether a secret was masked in the output before the target received it."""
    return MASK in str(told["output"].get("value", "")) and MASK not in str(told["case"])
