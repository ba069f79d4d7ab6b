"""The prompts of PromptPex and GitHub Models load, each with what its author wrote into it."""

from pathlib import Path

import pytest

from evalmark.errors import ConfigError
from evalmark.prompts.templates.prompt_files import read_prompt
from evalmark.prompts.templates.rendering import render

SU, S, U = ("system", "user"), ("system",), ("user",)
PEX, GH = "promptpex/samples/", "gh-models/"
TABLE = [
    # file, roles, inputs (those no file declares with a star), samples, scenarios, notes
    (PEX + "azure-ai-studio/shakespearean-writing-assistant.prompty", SU, "question", 0, 0, 0),
    (PEX + "big-prompt-lib/art-prompt.prompty", SU, "text", 1, 0, 0),
    (PEX + "big-prompt-lib/sentence-rewrite.prompty", SU, "text", 1, 0, 0),
    (PEX + "demo/bare.prompty", SU, "locale* joke*", 0, 0, 0),
    (PEX + "demo/demo.prompty", SU, "joke locale", 2, 2, 0),
    (PEX + "demo/entities.md", S, "", 0, 0, 1),
    (PEX + "demo/entities.prompty", S, "text", 0, 1, 0),
    (PEX + "demo/joke.prompty", SU, "joke*", 0, 0, 0),
    (PEX + "demo/nice.metric.prompty", SU, "output", 0, 0, 0),
    (PEX + "demo/rate-customer-experience.prompty", SU, "user_question chatbot_answer user_feedback", 1, 0, 0),
    (PEX + "demo/rate-headline.prompty", SU, "headline", 1, 0, 1),
    (PEX + "demo/score-sentence.prompty", SU, "sentence", 1, 0, 0),
    (PEX + "dev-proxy/api_operation_id.prompty", SU, "request*", 1, 0, 0),
    (PEX + "github-models/explainer.prompt.yml", SU, "input*", 3, 0, 0),
    (PEX + "github-models/summarizer.prompt.yml", SU, "input*", 1, 0, 0),
    (PEX + "openai-examples/elements.prompty", SU, "text", 0, 0, 0),
    (PEX + "prompt-guide/extract-names.prompty", SU, "input", 1, 0, 0),
    (PEX + "speech-tag/speech-tag-multi.prompty", SU, "sentence word", 1, 0, 0),
    (PEX + "speech-tag/speech-tag.prompty", SU, "sentenceword", 1, 0, 0),
    (PEX + "text-classification/classify-input-text.prompty", SU, "text", 1, 0, 0),
    (PEX + "text-to-p/text-to-p.prompty", SU, "text", 0, 0, 0),
    (
        GH + "advanced_template_prompt.yml",
        SU,
        (
            "assistant_persona* expertise_level* domain* tone* formality_level* user_name* user_role* company* "
            "background_info* input* additional_context*"
        ),
        *(0, 0, 0),
    ),
    (GH + "failing_test_prompt.yml", SU, "input*", 2, 0, 0),
    (GH + "json_response_prompt.yml", SU, "topic*", 2, 0, 0),
    (GH + "json_schema_prompt.yml", SU, "animal*", 3, 0, 0),
    (GH + "sample_prompt.yml", SU, "input*", 2, 0, 0),
    (GH + "template_variables_prompt.yml", SU, "persona* domain* name* topic* input*", 0, 0, 0),
    (GH + "test_builtins.yml", SU, "input*", 1, 0, 0),
    (GH + "test_generate.yml", SU, "input*", 0, 0, 0),
    (GH + "test_single_evaluator.yml", U, "input*", 1, 0, 0),
]


@pytest.mark.parametrize(
    ("file", "roles", "inputs", "samples", "scenarios", "notes"), [pytest.param(*row, id=row[0]) for row in TABLE]
)
def test_a_published_prompt_loads_and_renders(shared, file, roles, inputs, samples, scenarios, notes):
    prompt = read_prompt(shared / "data" / file)
    assert tuple(message.role for message in prompt.messages) == roles
    assert [known.name + "*" * (not known.declared) for known in prompt.inputs] == inputs.split()
    assert (len(prompt.samples), len(prompt.scenarios), len(prompt.notes)) == (samples, scenarios, notes)
    turns = render(prompt, {known.name: f"<{known.name}>" for known in prompt.inputs})
    assert tuple(turn.role for turn in turns) == roles
    text = "\n".join(turn.content for turn in turns)
    assert "{{" not in text
    assert all(f"<{known.name}>" in text for known in prompt.inputs)


def test_the_table_has_all_prompts_that_are_there(shared):
    folders = [shared / "data" / PEX, shared / "data" / GH]
    ends = (".prompty", ".md", ".prompt.yml", "_prompt.yml")
    there = {
        str(path.relative_to(shared / "data"))
        for folder in folders
        for path in folder.rglob("*.*")
        if path.name.endswith(ends) or path.name.startswith("test_")
    }
    assert there == {row[0] for row in TABLE}


@pytest.mark.parametrize("file", [pytest.param(row[0], id=row[0]) for row in TABLE])
def test_every_line_number_leads_to_the_text(shared, file):
    path = shared / "data" / file
    lines = path.read_text(encoding="utf-8").splitlines()
    for message in read_prompt(path).messages:
        assert message.text.split("\n")[0].strip() in lines[message.line - 1]


def test_the_demo_says_all_that_it_holds(shared):
    demo = read_prompt(shared / "data" / PEX / "demo" / "demo.prompty")
    joke, locale = demo.inputs
    assert joke.default.startswith("how do you make a tissue dance?")
    assert (locale.type, locale.default, locale.required) == ("string", "en-us", False)
    assert [(s.name, s.parameters) for s in demo.scenarios] == [("English", {}), ("French", {"locale": "fr-FR"})]
    assert [sample.rest for sample in demo.samples] == [{"output": "funny"}, {"output": "funny"}]
    assert demo.instructions.keys() == {"inputSpec", "outputRules"}
    assert render(demo, {})[1].content == joke.default


def test_github_models_settings_and_schema_get_the_names_of_requests(shared):
    explainer = read_prompt(shared / "data" / PEX / "github-models" / "explainer.prompt.yml")
    assert (explainer.model, explainer.settings) == (
        "github:openai/gpt-4.1-mini",
        {"temperature": 0.3, "max_tokens": 200},
    )
    assert explainer.rest.keys() == {"evaluators"}
    animal = read_prompt(shared / "data" / GH / "json_schema_prompt.yml")
    assert animal.schema["required"] == ["name", "habitat", "diet"]
    assert read_prompt(shared / "data" / GH / "json_response_prompt.yml").settings == {
        "response_format": {"type": "json_object"}
    }


def test_a_workflow_is_no_prompt(shared):
    with pytest.raises(ConfigError, match="has no `messages`"):
        read_prompt(Path(shared) / "data" / GH / "evals_action.yml")
