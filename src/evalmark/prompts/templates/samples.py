"""Reads values that a prompt's author wrote: samples, test data, scenarios."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalmark.core.suggestions import did_you_mean
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.findings import Findings, json_excerpt

from .prompt import Input, PromptSample, Scenario
from .references import file_under

_SCENARIO = ("name", "instructions", "parameters")


def samples_of(data: Mapping[str, Any], inputs: tuple[Input, ...], findings: Findings) -> tuple[PromptSample, ...]:
    """Return the samples under `sample`, `testSamples` and `testData`, in this order."""
    names = [variable.name for variable in inputs]
    found: list[PromptSample] = []
    for key in ("sample", "testSamples", "testData"):
        for at, row in _rows(data.get(key), (key,), names, findings):
            sample = PromptSample(
                values={name: value for name, value in row.items() if name in names},
                rest={name: value for name, value in row.items() if name not in names},
                line=findings.line_of(at),
            )
            found.append(sample)
            _note_unknown_inputs(sample, names, key, findings)
    return tuple(found)


def _note_unknown_inputs(sample: PromptSample, names: list[str], key: str, findings: Findings) -> None:
    """Add a note for samples that name an unknown input."""
    for other in sample.rest:
        similar = did_you_mean(other, names, cutoff=0.8)
        if similar or (key == "sample" and names):
            advice = f"; {similar}" if similar else "."
            findings.note(sample.line, f"the sample names {other!r}, which is not an input of the prompt{advice}")


def _rows(
    raw: Any, at: DataPath, names: Sequence[str], findings: Findings
) -> Iterable[tuple[DataPath, Mapping[str, Any]]]:
    if raw is None:
        return
    for number, item in enumerate(raw) if isinstance(raw, list) else ((None, raw),):
        here = at if number is None else (*at, number)
        for row in _sample_rows(item, here, names, findings):
            if isinstance(row, Mapping):
                yield here, row
            else:
                findings.add_fault(
                    here, f"holds {json_excerpt(row)}; a sample is a mapping from inputs to their values."
                )


def _sample_rows(item: Any, at: DataPath, names: Sequence[str], findings: Findings) -> list[Any]:
    """Return the sample itself, or the samples of the file that it names."""
    if not isinstance(item, str):
        return _rows_in_data(item, names)
    if not item.lower().endswith((".json", ".yaml", ".yml")):
        findings.add_fault(at, f"is {json_excerpt(item)}; it takes a mapping, or the name of a JSON or YAML file.")
        return []
    try:
        return _rows_in_data(file_under(findings.document.path.parent, item), names)
    except PlacedError as error:
        findings.add_fault(at, f"names the file {json_excerpt(item)}: {error.message}")
        return []


def _rows_in_data(data: Any, names: Sequence[str]) -> list[Any]:
    """Return the rows of a file's data: a list, a list under one key, or the data itself."""
    if isinstance(data, Mapping) and len(data) == 1 and isinstance(rows := next(iter(data.values())), list):
        is_inside = next(iter(data)) not in names and rows and all(isinstance(row, Mapping) for row in rows)
        data = rows if is_inside else data
    return data if isinstance(data, list) else [data]


def scenarios_of(raw: Any, inputs: tuple[Input, ...], findings: Findings) -> tuple[Scenario, ...]:
    """Return PromptPex's scenarios: a name, instructions, and values of some inputs."""
    return tuple(
        _scenario(row, ("scenarios", number), inputs, findings)
        for number, row in enumerate(findings.list(("scenarios",), raw))
    )


def _scenario(raw: Any, at: DataPath, inputs: tuple[Input, ...], findings: Findings) -> Scenario:
    row = findings.mapping(at, raw)
    line = findings.line_of(at)
    parameters = findings.mapping((*at, "parameters"), row.get("parameters"))
    variable = {one.name for one in inputs}
    for name in [one for one in parameters if one not in variable]:
        findings.add_fault((*at, "parameters", name), "is not an input of the prompt; declare it under `inputs`.")
    for name in [one for one in row if one not in _SCENARIO]:
        findings.note(line, f"a scenario does not know {name!r}; it knows {', '.join(_SCENARIO)}.")
    return Scenario(
        name=findings.text((*at, "name"), row.get("name")) or f"scenario {at[-1]}",
        instructions=findings.text((*at, "instructions"), row.get("instructions")) or "",
        parameters=dict(parameters),
        line=line,
    )
