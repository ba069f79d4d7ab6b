"""Results as plain data, without loss in other formats.

An exporter writes each result in the other tool's fields, and adds what its importer would not find there
(`remainder_of`). So a result is imported exactly as it was, and edits of the tool's own fields are still respected.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import canonical
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Score, Trial
from evalmark.inputs.documents.errors import PlacedError
from evalmark.storage.database.field_specs import CASE, OUTPUT, RUN, SCORE, output_fields, read_mode
from evalmark.storage.database.fields import Spec, dump_fields, read_object

from .items import is_number

REST = "evalmark"
"""The key, in another format's objects, of the remainder."""
SIDE = "evalmark.json"
"""The side file of an export, with what no format can express: the run, its metrics, its gate."""
MAX_NUMBER = 1_000_000_000
"""The largest position of a case, and the largest number of a repeat."""
_TRIAL = ("dataset", "target", "position", "repeat", "mode")

Data = dict[str, Any]


def result_data(result: Result) -> Data:
    """Convert a result to plain data, without empty fields."""
    trial, case = result.trial, result.trial.case
    return {
        "trial": {name: getattr(trial, name) for name in _TRIAL},
        "case": dump_fields(case, CASE) | {"place": case.place},
        "output": output_fields(result.output),
        "scores": [dump_fields(score, SCORE) for score in result.scores],
    }


def remainder_of(result: Result, native: Mapping[str, Any]) -> Data:
    """Return what `result_data` has and `native` does not, which is what a reader of the format would find."""
    full = result_data(result)
    more = _input_defaults(full["case"].get("input"), native.get("case", {}).get("input"))
    seen = {**native, "case": _without(native.get("case", {}), more)} if more else native
    rest: Data = {part: _difference(full[part], seen.get(part, {})) for part in ("case", "output")}
    rest["defaults"] = more
    rest["trial"] = full["trial"]  # a result does not contain its position in the files
    native_scores = list(native.get("scores", ()))
    if canonical(full["scores"]) != canonical(native_scores):
        rest["scores"] = [_score_remainder(score, native_scores) for score in full["scores"]]
    return {part: value for part, value in rest.items() if value or part == "scores"}


def native_trial(dataset: str, target: str, position: int) -> Data:
    """Return the fields of the trial of another tool's result."""
    return {"dataset": dataset, "target": target, "position": position, "repeat": 0, "mode": "single"}


def native_score(name: str, number: Any, passed: Any, reason: Any) -> Data:
    """Return the fields of a score of another tool's result; without a number and a verdict it is unscored."""
    score: Data = {"name": name}
    if is_number(number):
        score |= {"raw": number} | ({"value": number} if 0 <= number <= 1 else {})
    if isinstance(passed, bool):
        score["passed"] = passed
    elif "raw" not in score:
        score["status"] = "unscored"
    return score | ({"reason": reason} if isinstance(reason, str) and reason else {})


def verdicts_of(result: Result) -> list[tuple[Score, float]]:
    """Return the scores that pass or fail, each with a number, which other tools require."""
    return [
        (score, float(score.passed) if score.value is None else score.value)
        for score in result.scores
        if score.status == "scored" and score.passed is not None
    ]


def _input_defaults(variables: Any, native: Any) -> Data:
    """Return the values that an importer finds in addition to the input: the prompt's defaults."""
    if not (isinstance(variables, Mapping) and isinstance(native, Mapping)):
        return {}
    is_whole = all(name in native and canonical(native[name]) == canonical(value) for name, value in variables.items())
    return {name: value for name, value in native.items() if name not in variables} if is_whole else {}


def _without(case: Mapping[str, Any], defaults: Mapping[str, Any]) -> Data:
    """Return the case without the defaults in its input; edited values are kept."""
    variables = case.get("input")
    if not isinstance(variables, Mapping):
        return dict(case)
    edited = {
        name: value
        for name, value in variables.items()
        if name not in defaults or canonical(value) != canonical(defaults[name])
    }
    return {**case, "input": edited}


def _difference(full: Mapping[str, Any], native: Mapping[str, Any]) -> Data:
    """Return the fields that differ; None for a field that only the native view has."""
    names = dict.fromkeys((*full, *native))
    return {name: full.get(name) for name in names if canonical(full.get(name)) != canonical(native.get(name))}


def _score_remainder(score: Data, native_scores: Sequence[Data]) -> Data:
    native = next((other for other in native_scores if other.get("name") == score["name"]), {})
    return {"name": score["name"]} | _difference(score, native)


def result_from(native: Mapping[str, Any], rest: Any, place: str) -> Result:
    """Make a result from a format's own fields and the remainder.

    Raises:
        DataError: the remainder or a field is invalid.
    """
    remainder = _part(rest, "", place)
    trial = _completed(native.get("trial", {}), _part(remainder, "trial", place))
    case = _completed(_without(native["case"], _part(remainder, "defaults", place)), _part(remainder, "case", place))
    output = _completed(native.get("output", {}), _part(remainder, "output", place))
    scores = _scores(list(native.get("scores", ())), remainder.get("scores"), place)
    return Result(
        trial=Trial(case=case_from(case, place), **_trial_fields(trial, place)),
        output=read_value(Output, OUTPUT, output, "output", place),
        scores=tuple(read_value(Score, SCORE, score, f"scores[{n}]", place) for n, score in enumerate(scores)),
    )


def _part(remainder: Any, name: str, place: str) -> Data:
    part = remainder if not name else remainder.get(name)
    if part is None:
        return {}
    if not isinstance(part, dict):
        raise PlacedError(place, f"`{'.'.join(filter(None, (REST, name)))}` is not an object; take it out.")
    return part


def _completed(native: Mapping[str, Any], rest: Mapping[str, Any]) -> Data:
    return {name: value for name, value in {**native, **rest}.items() if value is not None}


def _scores(native: list[Data], rest: Any, place: str) -> list[Data]:
    """Return the scores that the remainder names, in its order; a format may have added its own."""
    if rest is None:
        return native
    if not isinstance(rest, list) or not all(isinstance(item, dict) and "name" in item for item in rest):
        raise PlacedError(place, f"`{REST}.scores` is not a list of objects with a `name`; take it out.")
    scores = []
    for item in rest:
        own = next((score for score in native if score.get("name") == item["name"]), {})
        native = [score for score in native if score is not own]
        scores.append(_completed(own, item))
    return scores


def case_from(data: Mapping[str, Any], place: str) -> Case:
    """Make a case from its fields; `place` is used unless the fields have one.

    Raises:
        DataError: a field is invalid.
    """
    fields = dict(data)
    where = fields.pop("place", place)
    if not isinstance(where, str):
        raise PlacedError(place, "`case.place` is not a text; take it out.")
    if "id" not in fields:
        raise PlacedError(place, "`case.id` is missing.")

    def made(**values: Any) -> Case:
        return Case(**values, place=where)

    case: Case = read_value(made, CASE, fields, "case", place)
    return case


def _trial_fields(data: Mapping[str, Any], place: str) -> Data:
    fields = {name: data[name] for name in _TRIAL if name in data}
    if unknown := data.keys() - set(_TRIAL):
        raise PlacedError(place, f"`trial.{min(unknown)}` is not a field of a trial; it has {', '.join(_TRIAL)}.")
    for name in ("dataset", "target"):
        if not isinstance(fields.get(name, ""), str):
            raise PlacedError(place, f"`trial.{name}` is {fields[name]!r:.40}; it takes a text.")
    for name in ("position", "repeat"):
        if type(number := fields.get(name, 0)) is not int or not 0 <= number <= MAX_NUMBER:
            raise PlacedError(
                place, f"`trial.{name}` is {number!r:.40}; it takes a whole number from 0 to {MAX_NUMBER:,}."
            )
    try:
        read_mode(fields.get("mode", "single"))
    except ValueError as error:
        raise PlacedError(place, f"`trial.mode`: {error}.") from None
    return fields


def run_data(run: Run) -> Data:
    """Convert the header of a run, without results, to plain data."""
    return dump_fields(run, RUN)


def run_from(data: Any, place: str) -> Run:
    """Make a run, without results, from its header.

    Raises:
        DataError: a field is invalid.
    """
    if not isinstance(data, dict):
        raise PlacedError(place, "`run` is not an object.")
    fields = {"id": "", "created": "", "name": ""} | {name: item for name, item in data.items() if item is not None}
    run: Run = read_value(Run, RUN, fields, "run", place)
    return run


def read_value(kind: Any, spec: Spec, data: Any, part: str, place: str) -> Any:
    """Make a value from plain data, and check every field.

    Raises:
        DataError: a field is invalid; the message names it.
    """
    fields = {}
    try:
        items = read_object(data).items()
    except ValueError as error:
        raise PlacedError(place, f"`{part}`: {error}.") from None
    for name, item in items:
        if name not in spec:
            raise PlacedError(place, f"`{part}.{name}` is not known; there are {', '.join(spec)}.")
        try:
            fields[name] = spec[name].read(item)
        except (ValueError, TypeError) as error:
            raise PlacedError(place, f"`{part}.{name}`: {error}.") from None
    try:
        return kind(**fields)
    except TypeError:
        raise PlacedError(place, f"`{part}` lacks a field that it has to have, such as `name`.") from None
