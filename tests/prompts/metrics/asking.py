"""A prompt under test, metrics in files beside it, and judges that answer from a script."""

import asyncio
from pathlib import Path

from evalmark import Case, Output
from evalmark.prompts.metrics.metric import with_spec
from evalmark.prompts.metrics.metric_prompts import read_prompt_metric
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.templates.prompt_files import parse_prompt
from evalmark.testing.chat import ScriptedModel

PROMPT = "---\nname: tagger\n---\nsystem:\nReturn one tag.\nuser:\n{{ text }}\n"
RULES = ("The output must be one of these labels: NN, VB.", "The output must be kind.")
CASE = Case(id="1", input={"text": "fox"}, expected="NN")
OUTPUT = Output(value="NN")


def spec(folder=Path("prompts"), **fields):
    """A prompt with two rules."""
    known = {"intent": "Tag a word.", "input_spec": ("A word.",), "rules": RULES, "inverse_rules": ("Two tags.",)}
    return PromptSpec(
        prompt=parse_prompt(PROMPT, folder / "tagger.prompty"), folder=folder / "tagger", **(known | fields)
    )


def metric(folder, text, name="fine.metric.prompty", *, named=True, **fields):
    """The metric in a file with this text, in a run of the prompt."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return with_spec(read_prompt_metric(file, named=named), spec(**fields))


def ask(scorer, replies, case=CASE, output=OUTPUT):
    """The score, and the model that was asked."""
    model = replies if isinstance(replies, ScriptedModel) else ScriptedModel(replies)
    return asyncio.run(scorer(case, output, model)), model


def told(model):
    """All that a judge was told first."""
    return "\n".join(turn.content for turn in model.requests[0].messages)
