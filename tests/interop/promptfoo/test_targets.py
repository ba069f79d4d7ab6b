"""What promptfoo's providers become: models with the settings that promptfoo sends, HTTP services, and commands."""

import json
import subprocess
import sys

import pytest
import yaml

from evalmark.cli.commands.file_checks import validate
from evalmark.core.settings import Settings
from evalmark.interop.promptfoo.importer import import_promptfoo
from evalmark.interop.promptfoo.services import json_path_of
from evalmark.interop.promptfoo.templates import converted, variables_of
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.interop.shared.model_names import from_promptfoo
from tests.interop.shared.carried import laid_out

TEST = {"vars": {"city": "Oslo"}, "assert": [{"type": "contains", "value": "Oslo"}]}


def imported_from(folder, providers, prompts=("Say {{city}}.",), options=None, **files):
    """What a config with these providers becomes, written to a folder and validated."""
    config = {"prompts": list(prompts), "providers": providers, "tests": [TEST]}
    laid_out(folder, {"promptfooconfig.yaml": yaml.safe_dump(config), **files})
    result = import_promptfoo(folder / "promptfooconfig.yaml", options or ImportOptions())
    laid_out(folder / "in", result.files)
    if result.lacks_target:
        return result, None
    assert validate(folder / "in" / "suite.yaml", Settings()) == []
    return result, yaml.safe_load(result.files["suite.yaml"])["target"]


@pytest.mark.parametrize(
    ("provider", "settings"),
    [
        ("openai:gpt-4o", {"temperature": 0, "max_tokens": 1024}),
        ({"id": "openai:gpt-4o", "config": {"omitDefaults": True}}, None),
        ("openai:o3-mini", None),
        ({"id": "openai:gpt-5-mini", "config": {"reasoning_effort": "low"}}, {"reasoning_effort": "low"}),
        ({"id": "openai:responses:o3", "config": {"reasoning": {"effort": "low"}, "max_output_tokens": 9}},
         {"max_tokens": 9, "reasoning_effort": "low"}),
        ("anthropic:messages:claude-3-5-haiku", {"temperature": 0, "max_tokens": 1024}),
        ({"id": "anthropic:claude-sonnet-4", "config": {"top_p": 0.5}}, {"max_tokens": 1024, "top_p": 0.5}),
        ("google:gemini-2.5-flash", None),
        ({"id": "google:gemini-2.5-flash", "config": {"generationConfig": {"maxOutputTokens": 7, "topP": 1}}},
         {"max_tokens": 7, "top_p": 1}),
        ({"id": "openai:gpt-4o", "config": {"temperature": 1, "max_tokens": 5, "passthrough": {"seed": 3}}},
         {"temperature": 1, "max_tokens": 5, "seed": 3}),
        ({"id": "openai:gpt-4o", "config": {"response_format": "file://form.json", "temperature": 1, "max_tokens": 5}},
         {"response_format": {"type": "json_object"}, "temperature": 1, "max_tokens": 5}),
    ],
    ids=str,
)  # fmt: skip
def test_a_model_gets_the_settings_that_promptfoo_sends(tmp_path, provider, settings):
    result, target = imported_from(tmp_path, [provider], **{"form.json": '{"type": "json_object"}'})
    assert result.dropped == ()
    assert target.get("settings") == settings


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("cerebras:llama-3.3-70b", "openai_compatible:https://api.cerebras.ai/v1/llama-3.3-70b"),
        ("docker:ai/llama3.2:3B", "openai_compatible:http://127.0.0.1:12434/engines/v1/ai/llama3.2:3B"),
        ("bedrock:us.anthropic.claude-v1:0", "pydantic-ai/bedrock:us.anthropic.claude-v1:0"),
        ("bedrock:converse:amazon.nova-lite-v1:0", "pydantic-ai/bedrock:amazon.nova-lite-v1:0"),
        ("vertex:gemini-2.0-flash", "pydantic-ai/google-vertex:gemini-2.0-flash"),
        ("github:openai/gpt-4.1", "pydantic-ai/github:openai/gpt-4.1"),
        ("bedrock:agents:x", None),
        ("vertex:llama-3", None),
        ("hyperbolic:audio:x", None),
        ("openai:codex-sdk", None),
        ("xai:image:grok", None),
    ],
)
def test_a_provider_is_found_by_its_name(provider, model):
    assert from_promptfoo(provider) == model


def test_an_address_of_its_own_is_part_of_the_model(tmp_path):
    config = {"apiBaseUrl": "http://127.0.0.1:1234/v1", "apiKeyEnvar": "BOX_KEY", "omitDefaults": True}
    _, target = imported_from(tmp_path, [{"id": "openai:chat:small", "config": config}])
    assert target["models"] == ["openai_compatible:http://127.0.0.1:1234/v1/small"]


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("deepseek:deepseek-chat", "deepseek-chat"),
        ("cerebras:llama-4", "llama-4"),
        ("fireworks:accounts/fireworks/models/m", "accounts/fireworks/models/m"),
        ("huggingface:chat:lab/m", "lab/m"),
    ],
)
def test_a_service_with_the_api_of_openai_may_have_another_address(tmp_path, provider, model):
    config = {"apiBaseUrl": "https://proxy.example.com/v1", "maxConcurrency": 2, "usage_tier": "low"}
    result, target = imported_from(tmp_path, [{"id": provider, "config": config}])
    assert target["models"] == [f"openai_compatible:https://proxy.example.com/v1/{model}"]
    assert result.dropped == ()


def test_an_address_that_promptfoo_does_not_read_is_not_read_here(tmp_path):
    _, target = imported_from(tmp_path, [{"id": "ollama:chat:small:1b", "config": {"apiBaseUrl": "http://box:1"}}])
    assert target["models"] == ["ollama/small:1b"]


@pytest.mark.parametrize(
    ("provider", "model", "variable"),
    [
        ("anthropic:messages:other-model", "anthropic/other-model", "ANTHROPIC_BASE_URL"),
        ("google:gemini-2.5-flash", "gemini/gemini-2.5-flash", "GOOGLE_GEMINI_BASE_URL"),
    ],
)
def test_another_address_of_an_api_that_is_not_openais_is_said_and_not_taken_for_openais(
    tmp_path, provider, model, variable
):
    row = {"id": provider, "config": {"apiBaseUrl": "https://proxy.example.com/api"}}
    refused, _ = imported_from(tmp_path / "a", [row])
    [why] = [part.to for part in refused.parts if part.outcome == "left out"]
    assert f"set {variable} to the address" in why
    assert f"--map-provider '{provider}={model}'" in why
    _, target = imported_from(tmp_path / "b", [row], options=ImportOptions(providers={provider: model}))
    assert target["models"] == [model]


def test_models_that_differ_in_their_settings_stand_side_by_side(tmp_path):
    warm = {"id": "openai:a", "config": {"temperature": 1}}
    _, target = imported_from(tmp_path, ["openai:a", warm, {**warm, "label": "mine"}])
    assert [(one["model"], one.get("name"), one["settings"]["temperature"]) for one in target] == [
        ("openai/a", None, 0),
        ("openai/a", "openai/a-2", 1),
        ("openai/a", "mine", 1),
    ]


def test_a_provider_may_be_replaced_by_name_label_or_pattern(tmp_path):
    providers = [{"id": "browser", "config": {"temperature": 1, "steps": []}}, {"id": "n8n:x", "label": "flow"}, "my:y"]
    refused, _ = imported_from(tmp_path / "a", providers)
    assert "--map-provider 'browser=openai/NAME'" in refused.lacks_target
    names = {"browser": "openai/a", "flow": "openai/b", "my:*": "openai/c", "gone": "openai/d"}
    result, target = imported_from(tmp_path / "b", providers, options=ImportOptions(providers=names))
    assert [(one["model"], one.get("settings")) for one in target] == [
        ("openai/a", {"temperature": 1}),
        ("openai/b", None),
        ("openai/c", None),
    ]
    assert result.remarks == ("--map-provider gone: the config has no such provider.",)


def service(**config):
    return {"id": "http", "config": {"url": "http://127.0.0.1:9/ask", "body": {"q": "{{prompt}}"}, **config}}


def test_an_http_service_gets_the_prompt_in_its_request(tmp_path):
    headers = {"Authorization": "Bearer {{env.ASK_TOKEN}}", "X-Api-Key": "written-out-0123", "X-Kind": "test"}
    config = {"headers": headers, "transformResponse": "(json) => json.choices[0]?.text", "timeout": 9}
    one = {**service(**config), "label": "shop"}
    result, target = imported_from(tmp_path, [one], ["{{city}}: {{mood | upper}}?"])
    assert target["name"] == "shop"
    assert target["http"] == {
        "url": "http://127.0.0.1:9/ask",
        "method": "POST",
        "headers": {"Authorization": "Bearer ${ASK_TOKEN}", "X-Kind": "test"},
        "body": {"q": "{{input.city}}: {{input.mood | upper}}?"},
        "output": "$.choices[0].text",
    }
    assert [part.name.rsplit(" ", 1)[1] for part in result.dropped] == ["headers.X-Api-Key"]
    assert json.loads(result.files["cases.jsonl"])["input"] == {"city": "Oslo", "mood": ""}
    assert "written-out" not in str(result)
    assert not any(name.endswith(".prompt.yml") for name in result.files)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"transformResponse": "json.a ? json.b : json.c"}, "`transformResponse` is code"),
        ({"url": "{{env.HOST}}/ask"}, "read from an environment variable"),
        ({"signatureAuth": {}}, "`signatureAuth`"),
        ({"headers": {"X-Id": "{{city}}"}}, "headers are the same for all cases"),
        ({"body": {"q": "{{env.X}}"}}, "its body reads an environment variable"),
        ({"url": ""}, "no `url`"),
        ({"body": {"q": "{{__index}}"}}, "two underscores"),
    ],
)
def test_an_http_service_that_would_be_asked_otherwise_is_named(tmp_path, config, why):
    result, target = imported_from(tmp_path, [service(**config)])
    [part] = result.dropped
    assert (target, why in part.to) == (None, True)


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("json.a", "$.a"),
        ("json", "$"),
        ("json.a?.b[0]['c d'];", "$.a.b[0]['c d']"),
        ("(json, text) => json.reply", "$.reply"),
        ("data => data.reply", "$.reply"),
        ("json.a || json.b", None),
        ("JSON.stringify(json)", None),
        ("jsonx.a", None),
        ("({output: json.a})", None),
    ],
)
def test_only_a_plain_path_into_a_response_is_translated(code, path):
    assert json_path_of(code) == path


@pytest.mark.parametrize(
    "code", ["json.a || json.b", "json.a ?? 'none'", "(json, text) => json?.a || json?.error || text"]
)
def test_of_alternatives_in_a_response_the_first_is_the_output(tmp_path, code):
    result, target = imported_from(tmp_path, [service(transformResponse=code)])
    assert (target["http"]["output"], result.dropped) == ("$.a", ())
    assert "a response with another status than 2xx or no $.a is an error here" in [part.to for part in result.parts][1]


SCRIPTS = {
    "agent.py": "from lib.loud import loud\ndef call_api(prompt, options, context):\n    print('noise')\n"
    "    return {'output': [loud(prompt), options['config'], context['vars']['city']]}\n",
    "lib/loud.py": "def loud(text): return text.upper()\n",
    "broken.py": "def call_api(prompt, options, context):\n    return {'error': 'no luck'}\n",
    "prog.py": "import sys\nprint(sys.argv[1])\n",
}


def answer(folder, target):
    """Run a command with the input of the test, and return its status, what it prints, and its errors."""
    request = json.dumps(target["stdin"]).replace("{{input.city}}", "Oslo").replace('"{{ input }}"', '{"city": "Oslo"}')
    [program] = target["command"]
    done = subprocess.run(
        [sys.executable, folder / "in" / program], input=request, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_script_is_a_command_only_where_the_user_names_it(tmp_path):
    provider = {"id": "file://agent.py", "config": {"loud": True, "apiKey": "hush"}}
    refused, target = imported_from(tmp_path / "a", [provider], **SCRIPTS)
    assert target is None
    assert "name it with --code" in refused.dropped[0].to
    assert not any("noise" in text for text in refused.files.values())
    options = ImportOptions(code=(str(tmp_path / "b" / "agent.py"),))
    result, target = imported_from(tmp_path / "b", [provider], options=options, **SCRIPTS)
    assert {"providers/agent.py", "providers/lib/loud.py", "providers/run_python.py"} <= set(result.files)
    assert "hush" not in str(result.files)
    assert answer(tmp_path / "b", target)[:2] == (0, '{"output": ["SAY OSLO.", {"loud": true}, "Oslo"]}')


@pytest.mark.parametrize(
    ("provider", "status", "printed", "error"),
    [
        ("exec: python3 prog.py", 0, '{"output": "Say Oslo."}', ""),
        ("python:broken.py", 1, "", "no luck"),
        ("broken.py:gone", 1, "", "KeyError: 'gone'"),
    ],
)
def test_what_a_script_gives_is_the_output_and_its_errors_are_errors(tmp_path, provider, status, printed, error):
    _, target = imported_from(tmp_path, [provider], options=ImportOptions(code=("all",)), **SCRIPTS)
    code, out, err = answer(tmp_path, target)
    assert (code, out, error in err) == (status, printed, True)


@pytest.mark.parametrize("provider", ["file://../out.py", "ruby:agent.rb", "file://gone.py", "exec:'"])
def test_a_script_that_cannot_be_taken_along_is_named(tmp_path, provider):
    result, target = imported_from(tmp_path / "a", [provider], options=ImportOptions(code=("all",)))
    assert (target, len(result.dropped)) == (None, 1)


@pytest.mark.parametrize(
    ("template", "wanted", "names"),
    [
        ("{{a}} {{ b.c }}", "{{input.a}} {{ input.b.c }}", ("a", "b")),
        ("{% for x in xs %}{{ x.y }}{{ loop.index }}{% endfor %}", "{% for x in input.xs %}{{ x.y }}{{ loop.index }}{% endfor %}", ("xs",)),
        ("{% if a === 'b' %}{{ c | dump }}{% endif %}", "{% if input.a == 'b' %}{{ input.c | tojson }}{% endif %}", ("a", "c")),
        ("{{ a | default(null) }}", "{{ input.a | default(none) }}", ("a",)),
        ("{% raw %}{{a}}{% endraw %}", "{% raw %}{{a}}{% endraw %}", ()),
        ("{{ 'a' + ", "{{ 'a' + ", ()),
    ],
)  # fmt: skip
def test_a_template_is_converted_by_its_words(template, wanted, names):
    assert (converted(template, "input."), variables_of(template)) == (wanted, names)
