"""Finds and reads `NAME.metric.prompty` files strictly, each fault with its line."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean
from evalmark.inputs.documents.document import Document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import local_file, path_kind
from evalmark.inputs.documents.text import read_text
from evalmark.prompts.templates.frontmatter import split_frontmatter
from evalmark.prompts.templates.prompt import Input, Prompt
from evalmark.prompts.templates.prompt_files import parse_prompt
from evalmark.prompts.templates.rendering import place_in
from evalmark.prompts.templates.template import template_of
from evalmark.prompts.texts import load_texts
from evalmark.scoring.judges.metric_files import parse_metric

from .metric import ERR, OK, PromptMetric
from .metric_question import LABELS

METRIC_ENDING = ".metric.prompty"
METRIC_KEYS = ("score", "threshold", "direction", "repeat", "judge")
"""Keys of the front matter that metric files also have."""
_SCORE = re.compile(r"\bscor(?:e|es|ing)\b", re.IGNORECASE)
_RANGE = re.compile(
    r"\b(?:scor\w*|rat(?:e|ing)\w*)\b[^.\n]{0,60}?(?<![\w.,])(\d+(?:\.\d+)?)\s*(?:to|and|through|-|\u2013)\s*(\d+(?:\.\d+)?)(?![\w%])",
    re.IGNORECASE,
)
"""A range of numbers in a sentence about scores."""


def find_metrics(prompt_path: str | os.PathLike[str]) -> list[Path]:
    """Return every `NAME.metric.prompty` in a prompt's folder, by name.

    Raises:
        DataError: The folder cannot be read.
    """
    prompt = Path(prompt_path)
    try:
        found = sorted(prompt.parent.iterdir())
    except OSError as error:
        raw = error.strerror or str(error)
        raise PlacedError(str(prompt.parent), f"cannot be searched for metrics: {raw}.") from None
    named = (path for path in found if path.name.lower().endswith(METRIC_ENDING) and path.name != prompt.name)
    return [local_file(path) for path in named if path_kind(path) == "file"]


def read_prompt_metric(path: str | os.PathLike[str], *, named: bool = True) -> PromptMetric:
    """Read the metric in a prompt file.

    The judge answers with a number from 0 to 100 if the file has the tag `scorer` or its text asks for a score, else with OK
    or ERR. A block `score:` in the front matter has priority, as in metric files. `named` is False for a file that was only
    found.

    Raises:
        ConfigError: The file cannot be read, uses an unknown variable, or has another fault.
    """
    file = Path(path)
    text = read_text(file)
    prompt = _without_notes(parse_prompt(text, file))
    frontmatter = split_frontmatter(
        text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), file
    ).frontmatter
    own_score = frontmatter.data.get("score") is not None
    scores = own_score or _asks_for_score(prompt)
    faults = [*_variable_faults(prompt), *(() if own_score or not scores else _scale_faults(prompt))]
    if faults:
        raise ConfigError.of(faults)
    metric = parse_metric(_document(prompt, frontmatter, scores))
    used = _used_variables(prompt)
    expected = next((known for known in prompt.inputs if known.name == "groundtruth" and known.name in used), None)
    may_lack = expected is not None and expected.declared and not expected.required
    return PromptMetric(
        metric=replace(metric, notes=(*metric.notes, *prompt.notes, *_notes(prompt))),
        prompt=prompt,
        variables=frozenset(used & LABELS.keys()),
        ok_or_err=not scores,
        needs_expected="groundtruth" in prompt.tags or (expected is not None and not may_lack),
        named=named,
    )


def _asks_for_score(prompt: Prompt) -> bool:
    """Return whether the judge answers with a number: by the tag, else by the text."""
    if "scorer" in prompt.tags:
        return True
    words = "\n".join(message.text for message in prompt.messages)
    asks_for_ok = all(re.search(rf"\b{word}\b", words) for word in (OK, ERR))
    return not asks_for_ok and _SCORE.search(words) is not None


def _variable_faults(prompt: Prompt) -> Iterator[str]:
    """Yield a fault for variables that are unknown or declared with another type."""
    for known in prompt.inputs:
        place = f"{prompt.file}:{known.line}"
        if known.name not in LABELS and not (known.declared and known.default is not None):
            similar = did_you_mean(known.name, LABELS, "{{{{{}}}}}", cutoff=0.7)
            advice = similar or f"there are {', '.join(LABELS)}."
            yield f"{place}: {{{{{known.name}}}}} is not a variable of a metric; {advice}"
        elif known.name in LABELS and (known.type not in (None, "string") or known.choices):
            yield f"{place}: {{{{{known.name}}}}} is declared as {_type(known)}; a metric gets it as a text."
    if "output" not in _used_variables(prompt):
        yield f"{prompt.place}: the metric has no {{{{output}}}}, so nothing would be judged; show it."


def _used_variables(prompt: Prompt) -> set[str]:
    """Return the variables that the messages use, declared or not."""
    return {name for message in prompt.messages for name, _ in template_of(message.text).variables}


def _type(known: Input) -> str:
    return "one of several choices" if known.choices else f"the type {known.type}"


def _scale_faults(prompt: Prompt) -> Iterator[str]:
    """Yield a fault for a scale in the text that would be read as 0 to 100."""
    for message in prompt.messages:
        for found in _RANGE.finditer(message.text):
            low, high = float(found[1]), float(found[2])
            if low < high and (low, high) != (0, 100) and not (low == 1 and high == 100):
                place = place_in(prompt.file, message, message.text.count("\n", 0, found.start(1)) + 1)
                yield (
                    f"{place}: the text asks for a score from {found[1]} to {found[2]}, but without a `score:` block in "
                    f"the front matter it is read on a scale from 0 to 100; add `score: {{type: scale, min: {found[1]}, max: {found[2]}, "
                    "description: …}`, or ask for 0 to 100."
                )


def _document(prompt: Prompt, frontmatter: Document, scores: bool) -> Document:
    """Return the front matter as a document in the form of metric files."""
    kind = "percentage" if scores else "boolean"
    data: dict[str, Any] = {
        "name": name_of(frontmatter.path),
        "config": {"needs_history": False, "needs_example_output": False},
        "metric_description": prompt.description.strip() or prompt.name,
        "score": {"type": kind, "description": load_texts("metrics", "verdicts")["score"]},
        "settings": {key: value for key, value in prompt.settings.items() if key != "response_format"},
    }
    data |= {key: frontmatter.data[key] for key in METRIC_KEYS if frontmatter.data.get(key) is not None}
    return Document(path=frontmatter.path, data=data, lines=frontmatter.lines, notes=())


def name_of(path: Path) -> str:
    """Return the metric's name from its file name.

    >>> name_of(Path("a/nice.metric.prompty")), name_of(Path("strict.prompty"))
    ('nice', 'strict')
    """
    name = path.name
    for end in (METRIC_ENDING, ".prompty"):
        if name.lower().endswith(end) and len(name) > len(end):
            return name[: -len(end)]
    return name


def _without_notes(prompt: Prompt) -> Prompt:
    """Return the prompt without notes that the metric's own keys are not read."""
    unread_notes = tuple(f"`{key}` is not read; it is kept unchanged" for key in METRIC_KEYS)
    return replace(prompt, notes=tuple(note for note in prompt.notes if not any(raw in note for raw in unread_notes)))


def _notes(prompt: Prompt) -> Iterator[str]:
    """Yield notes about parts of the file without effect."""
    if prompt.model is not None:
        yield f"{prompt.place}: the metric names the model {prompt.model!r}; the run's judge is used instead."
    if prompt.schema is not None or "response_format" in prompt.settings:
        yield f"{prompt.place}: the metric's own reply format is ignored; evalmark sets its own."
    text = "\n".join(message.text for message in prompt.messages)
    if "input" not in _used_variables(prompt) and "<INPUT>" in text:
        yield f"{prompt.place}: the text mentions <INPUT> but does not use {{{{input}}}}, so the judge does not see the input."
