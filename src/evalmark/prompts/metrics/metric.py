"""A metric prompt as a scorer: it asks a judge in the words of the file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply
from evalmark.core.values.case import Case, Output, is_blank
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Score
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.texts import load_texts
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.judges.judge_scores import score_output
from evalmark.scoring.judges.measure import REASON, object_schema
from evalmark.scoring.judges.question import Question
from evalmark.scoring.judges.replies import ReplyFault, describe_reply_value, reply_object
from evalmark.scoring.judges.rubric import NO_ANSWER, MetricScorer, form_name, metric_slots
from evalmark.scoring.judges.template import common_prompt, fill
from evalmark.scoring.judges.verdict import Verdict, read_verdict, shorten_reason
from evalmark.scoring.judges.weighting import TOP_LOGPROBS

from .metric_question import SPEC_VARIABLES, question_of, variable_values

VERDICT = "verdict"
OK, ERR = "OK", "ERR"
OK_SCHEMA = object_schema({REASON: {"type": "string"}, VERDICT: {"type": "string", "enum": [OK, ERR]}})


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMetric(MetricScorer):
    """Ask a judge the question of a `NAME.metric.prompty` file."""

    prompt: Prompt
    """The texts of the file."""
    variables: frozenset[str]
    """The variables that the texts use."""
    ok_or_err: bool = False
    """Whether the judge answers OK or ERR instead of a score."""
    needs_expected: bool = False
    """Whether a test without a ground truth is skipped."""
    named: bool = True
    """Whether the user named the metric; one that was only found is skipped if it is tagged experimental."""
    spec: PromptSpec | None = None
    """The prompt under test; None without one."""

    @property
    def needs_spec(self) -> bool:
        """Whether the texts use a variable that only a prompt under test has."""
        return not self.variables.isdisjoint(SPEC_VARIABLES)

    @property
    def fingerprint(self) -> str:
        """A hash of the metric, the prompt texts and the prompt under test."""
        texts = [
            self.prompt.fingerprint,
            common_prompt().fingerprint,
            load_texts("metrics", "verdicts"),
            self.ok_or_err,
            self.needs_expected,
        ]
        spec = self.spec.fingerprint if self.spec is not None and self.needs_spec else ""
        return fingerprint("prompt-metric-1", self.metric.fingerprint, texts, spec, self.questions, bool(self.skipped))

    @property
    def skipped(self) -> str:
        """Why all outputs are skipped; empty if they are scored."""
        if "experimental" in self.prompt.tags and not self.named:
            return "the metric is tagged experimental and was only found; name its file to use it"
        if "rules" in self.variables and self.spec is not None and not self.spec.rules:
            return f"the metric asks for rules, and {self.spec.folder / 'rules.txt'} has none"
        return ""

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output; `skipped` if the metric does not apply to it.

        Raises:
            ConfigError: The metric needs a prompt under test, and there is none.
        """
        metric = self.metric
        if reason := self.skips(case):
            return Score(name=metric.name, status="skipped", direction=metric.direction, reason=reason)
        if output.value is None and not output.tool_calls:
            return unscored(metric.name, NO_ANSWER, metric.direction)
        if "input" in self.variables and case.input is None:
            return unscored(metric.name, "the test has no input", metric.direction)
        question = self.question(case, output)
        material = [part.text for part in question.material]
        read = partial(read_ok, material=material) if self.ok_or_err else partial(self._read, material=material)
        return await score_output(judge, question, read, metric, self.questions)

    def question(self, case: Case, output: Output) -> Question:
        """Return the question to the judge about an output.

        Raises:
            ConfigError: The metric needs a prompt under test, and there is none.
        """
        if self.spec is None and self.needs_spec:
            raise ConfigError(missing_spec_message(self))
        metric = self.metric
        form = load_texts("metrics", "verdicts")["form"]
        if not self.ok_or_err:
            ours = metric_slots(metric.name, metric.description, metric.measure)
            form = fill(common_prompt().forms[form_name(metric.measure)], ours)
        values = {
            name: text for name, text in variable_values(case, output, self.spec).items() if name in self.variables
        }
        return question_of(
            self.prompt,
            values,
            form,
            OK_SCHEMA if self.ok_or_err else metric.measure.schema(),
            metric.settings,
            TOP_LOGPROBS if metric.weighted else 0,
        )

    def skips(self, case: Case) -> str:
        """Return why outputs of a case are skipped; empty if they are scored."""
        if self.skipped:
            return self.skipped
        if self.needs_expected and is_blank(case.expected):
            return "the metric needs a ground truth, and the test has none"
        return ""

    def _read(self, reply: Reply, material: Sequence[str]) -> Verdict | ReplyFault:
        """Return the verdict; `explanation` serves as its reason if there is none, since many metrics ask for one."""
        measure = self.metric.measure
        found = read_verdict(reply, measure, material, lower=self.metric.direction == "lower")
        if isinstance(found, ReplyFault) or found.reason:
            return found
        data = reply_object(reply, measure.key, material)
        explanation = None if isinstance(data, ReplyFault) else data.get("explanation")
        return Verdict(found.raw, shorten_reason(explanation)) if isinstance(explanation, str) else found


def read_ok(reply: Reply, material: Sequence[str] = ()) -> Verdict | ReplyFault:
    """Return the verdict in a reply `{reason, verdict}` with exactly OK or ERR.

    >>> read_ok(Reply(text='{"reason": "It is short.", "verdict": "OK"}'))
    Verdict(raw=True, reason='It is short.')
    >>> read_ok(Reply(text="not OK")).sentence
    'there is no JSON object in it'
    """
    found = reply_object(reply, VERDICT, material)
    if isinstance(found, ReplyFault):
        return found
    if VERDICT not in found:
        return ReplyFault(f"the JSON object has no `{VERDICT}`")
    word, reason = found[VERDICT], found.get(REASON)
    if not (reason is None or isinstance(reason, str)):
        return ReplyFault(f"`{REASON}` is {describe_reply_value(reason)}, not a text")
    if not (isinstance(word, str) and word in (OK, ERR)):
        return ReplyFault(f"`{VERDICT}` is {describe_reply_value(word)}, not {OK} or {ERR}")
    if found.get("pass") is (word != OK):
        return ReplyFault(f"`{VERDICT}` and `pass` contradict each other", "judge_inconsistent")
    return Verdict(word == OK, shorten_reason(reason or ""))


def missing_spec_message(metric: PromptMetric) -> str:
    """Return the message for a metric in a run without a prompt under test."""
    names = " and ".join(f"{{{{{name}}}}}" for name in SPEC_VARIABLES if name in metric.variables)
    return (
        f"{metric.prompt.place}: the metric {metric.name!r} shows {names}, and the run has no prompt under test; "
        "name one as its target."
    )


def with_name(metric: PromptMetric, name: str) -> PromptMetric:
    return replace(metric, metric=replace(metric.metric, name=name))


def needs_spec(scorer: Callable[..., Any]) -> bool:
    return bool(getattr(scorer, "needs_spec", False))


def with_spec(scorer: Callable[..., Any], spec: PromptSpec | None, place: str = "") -> Callable[..., Any]:
    """Return the scorer with the prompt under test if it needs one and has none; else unchanged.

    Raises:
        ConfigError: It needs one, and there is none; `place` starts the message.
    """
    if not needs_spec(scorer) or getattr(scorer, "spec", None) is not None:
        return scorer
    if spec is None:
        name = getattr(scorer, "name", "the metric")
        fault = (
            missing_spec_message(scorer)
            if isinstance(scorer, PromptMetric)
            else f"{name} needs a prompt under test; name one as the target."
        )
        raise ConfigError(f"{place}: {fault}" if place else fault)
    return replace(scorer, spec=spec)  # type: ignore[type-var]
