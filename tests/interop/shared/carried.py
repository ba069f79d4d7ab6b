"""A run with a prompt and a judge, as it goes out to other tools; and folders to read it back from."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evalmark import Case, Example, Gate, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.plain_data import canonical
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.interop.deepeval import import_deepeval
from evalmark.interop.deepeval_exporter import to_deepeval
from evalmark.interop.github_models.exporter import to_github_models
from evalmark.interop.github_models.importer import import_github_models
from evalmark.interop.inspect_logs.exporter import to_inspect
from evalmark.interop.inspect_logs.importer import import_inspect
from evalmark.interop.jsonl import import_jsonl
from evalmark.interop.openai_evals.exporter import to_openai_evals
from evalmark.interop.openai_evals.importer import import_openai_evals
from evalmark.interop.openai_evals.registry_exporter import to_openai_registry
from evalmark.interop.openai_evals.registry_importer import import_openai_registry
from evalmark.interop.promptfoo.exporter import to_promptfoo_files
from evalmark.interop.promptfoo.importer import import_promptfoo
from evalmark.interop.shared.export_run import ExportCheck, ExportResult, ExportRun
from evalmark.interop.shared.run_files import metric_of
from evalmark.judges import MetricFile
from evalmark.prompts.templates.prompt_files import parse_prompt
from evalmark.reports.files.run_json import as_jsonl
from evalmark.scoring.judges.measure import Measure

PROMPT = parse_prompt(
    """---
name: mood
description: Names the mood of a text.
model: openai/small
inputs:
  text: {type: string}
  tone: {type: string}
---
system:
You name the mood of a text, in one word. Answer in a {{tone}} tone.
user:
{{text}}
""",
    Path("mood.prompty"),
)
POLITE = MetricFile(
    name="polite",
    description="Is the answer polite?",
    measure=Measure(kind="scale", description="1 is rude, 5 is kind", low=1, high=5),
    threshold=0.5,
)
CHECKS = (
    ExportCheck(name="equals", scorer="equals"),
    ExportCheck(name="contains", scorer="contains", settings={"ignore_case": True}),
    ExportCheck(name="no excuse", scorer="not-contains", settings={"any": ["sorry"]}),
    ExportCheck(name="shape", scorer="regex", settings={"pattern": r"\w+"}),
    ExportCheck(name="similarity", scorer="similarity", settings={"positive": 0.8}),
    ExportCheck(name="factuality", scorer="factuality", judge="openai/judge", metric=metric_of("factuality", {})),
    ExportCheck(
        name="short",
        scorer="closed_qa",
        settings={"criteria": "It is one word."},
        judge="openai/judge",
        metric=metric_of("closed_qa", {"criteria": "It is one word."}),
    ),
    ExportCheck(name="polite", judge="anthropic/judge", metric=POLITE, threshold=0.5),
)


def _case(number: int, text: str, expected: str) -> Case:
    return Case(
        id=f"c{number}",
        input={"text": text, "tone": "warm"},
        expected=expected,
        tags=("positive",),
        metadata={"rule": "one word", "ruleid": number},
        place=f"tests.json:{number}",
    )


CASES = (_case(1, "What a day!", "joy"), _case(2, "It rains.\n{{x}} <b>user:</b>", "sadness"))


def _result(number: int, target: str, repeat: int, said: str) -> Result:
    case = CASES[number]
    right = said == case.expected
    scores = (
        Score(name="equals", raw=right, value=float(right), passed=right, reason=f"the answer is {said!r}"),
        Score(name="similarity", raw=0.93, value=0.93, passed=True),
        Score(
            name="factuality", raw="C" if right else "D", value=float(right), passed=right, reason="As the reference."
        ),
        Score(name="polite", raw=4, value=0.75, passed=True, detail={"judge": "anthropic/judge", "calls": ["k1"]}),
    )
    trial = Trial(case=case, dataset="moods", target=target, position=number, repeat=repeat)
    return Result(trial=trial, output=Output(value=said, seconds=0.25, usage=Usage(input_tokens=12)), scores=scores)


FAILED = Result(
    trial=Trial(case=CASES[1], dataset="moods", target="openai/large", position=1, repeat=1),
    output=Output(error="ModelCallError: openai/large answered 500."),
)
AGENT = Result(
    trial=Trial(
        case=Case(
            id="odd",
            input={"text": "Hm.", "tone": "dry"},
            expected="calm",
            examples=(Example(value="ease"), Example(value="rage", liked=False)),
            contexts=("It is quiet.",),
            history=(
                Turn(role="user", content="Hi."),
                Turn(role="assistant", content=[{"type": "text", "text": "Hi!"}]),
            ),
            given=Output(value="calm"),
        ),
        dataset="odd ones",
        target="openai/large",
    ),
    output=Output(
        value={"mood": "calm", "sure": 1.0},
        contexts=(),
        transcript=(
            Turn(role="user", content="Hm."),
            ToolCall(name="look", arguments={"at": "sky"}, result=None, id="t1"),
        ),
    ),
    scores=(
        Score(name="equals", status="unscored", reason="nothing to compare"),
        Score(name="edits", raw=3, direction="lower"),
    ),
)
RUN = Run(
    id="20261121-101500-m00d",
    name="moods of texts",
    created="2026-11-21T10:15:00Z",
    finished="2026-11-21T10:15:09Z",
    target="openai/small, openai/large",
    datasets=(DatasetInfo(name="moods", path="tests.json", rows=2), DatasetInfo(name="odd ones", rows=1)),
    metrics=tuple(Metric(name=check.name, judge=check.judge, threshold=check.threshold) for check in CHECKS),
    repeat=2,
    gate=Gate(min_pass_rate=0.5, thresholds={"equals": 0.5}),
    notes=("A note.",),
    results=[
        _result(0, "openai/large", 0, "joy"),
        _result(0, "openai/small", 0, "joy"),
        _result(0, "openai/large", 1, "joy"),
        _result(1, "openai/small", 0, "anger"),
        FAILED,
        AGENT,
    ],
)
CARRIED = ExportRun(run=RUN, checks=CHECKS, prompt=PROMPT)

FORMATS = {
    "openai-evals": (to_openai_evals, import_openai_evals),
    "openai-registry": (to_openai_registry, import_openai_registry),
    "github-models": (to_github_models, import_github_models),
    "promptfoo": (to_promptfoo_files, import_promptfoo),
    "deepeval": (to_deepeval, import_deepeval),
    "inspect": (to_inspect, import_inspect),
    "jsonl": (lambda given: ExportResult(files={"run.jsonl": "".join(as_jsonl(given.run))}), import_jsonl),
}


def laid_out(folder: Path, files: Mapping[str, str]) -> Path:
    """The folder with the files in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return folder


def same(run: Run) -> tuple[Run, list[str]]:
    """The header, and every result in an order of its own, each as its canonical text with its verdict."""
    found = [canonical([result, result.trial.case.place, result.verdict]) for result in run.results]
    return replace(run, results=()), sorted(found)
