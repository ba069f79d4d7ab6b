"""Masks secrets in a result before it is stored."""

from dataclasses import replace
from typing import Any

from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Result, Score
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
    fields = {
        "case": dump_fields(case, CASE),
        "place": case.place,
        "output": output_fields(output),
        "scores": [dump_fields(score, SCORE) for score in scores],
    }
    masked_fields = mask_secrets_in_data(fields)
    masked_fields = {
        **masked_fields,
        "output": _mask_errors(masked_fields["output"]),
        "scores": [*map(_mask_errors, masked_fields["scores"])],
    }
    changed = (
        masked_fields["output"] != fields["output"] or masked_fields["case"] != fields["case"] or _is_marked(fields)
    )
    if masked_fields == fields and not changed:
        return result
    masked_output: Output = load_fields(Output, OUTPUT, masked_fields["output"])
    return Result(
        trial=replace(result.trial, case=_case(case, fields, masked_fields)),
        output=replace(masked_output, masked=output.masked or changed),
        scores=tuple(load_fields(Score, SCORE, score) for score in masked_fields["scores"]),
    )


def _mask_errors(data: dict[str, Any]) -> dict[str, Any]:
    """Mask everything in the text of an exception that may be a secret: no scorer reads such texts."""
    name, beside = ("reason", "detail") if data.get("status") == "error" else ("error", "metadata")
    masked_fields = {**data, **({name: mask_secrets(data[name])} if name in data else {})}
    if "traceback" in masked_fields.get(beside, ()):
        masked_fields[beside] = {
            **masked_fields[beside],
            "traceback": map_texts(masked_fields[beside]["traceback"], mask_secrets),
        }
    return masked_fields


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
    masked_output = (
        f"{count(results, 'result')} {'contains' if results == 1 else 'contain'} a secret, which is masked as {MASK!r}; "
        f"`evalmark rescore` leaves {whom} unscored."
    )
    return (masked_output,) if results else ()


def _case(case: Case, fields: dict[str, Any], masked_fields: dict[str, Any]) -> Case:
    if masked_fields["case"] == fields["case"] and masked_fields["place"] == fields["place"]:
        return case
    found: Case = load_fields(Case, CASE, {**masked_fields["case"], "id": masked_id(case.id)})
    return replace(found, place=masked_fields["place"], original=case.fingerprint)


def _is_marked(fields: dict[str, Any]) -> bool:
    """Return whether a secret was masked in the output before the target received it."""
    return MASK in str(fields["output"].get("value", "")) and MASK not in str(fields["case"])
