"""Nothing of a promptfoo config keeps its name and changes its meaning: it is the same, or it is left out and named."""

import pytest
import yaml

from evalmark import Case, Output, evaluate
from evalmark.cli.commands.file_checks import validate
from evalmark.core.settings import Settings
from evalmark.interop.promptfoo.importer import import_promptfoo
from evalmark.interop.promptfoo.patterns import python_pattern
from evalmark.interop.promptfoo.scorers import PromptfooAssertion
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.scorers import Regex
from evalmark.scoring.binding.registry import resolve_scorer
from tests.interop.promptfoo.test_promptfoo import config, moved
from tests.interop.shared.carried import laid_out


def lost(folder, whole, **files):
    """What is left out or refused of a config, with its place."""
    laid_out(folder, {"promptfooconfig.yaml": yaml.safe_dump(whole), **files})
    return import_promptfoo(folder)


def test_what_must_not_be_there_is_no_reference_and_displaces_none(tmp_path):
    tests = [{"vars": {"city": c}, "assert": [{"type": "similar", "value": f"Hello {c}"}]} for c in ("Oslo", "Rome")]
    default = {"assert": [{"type": "not-contains", "value": "sorry"}, {"type": "icontains", "value": "hello"}]}
    imported, suite, cases = moved(tmp_path, config(*tests, defaultTest=default))
    assert imported.dropped == ()
    assert [case.expected for case in cases] == ["Hello Oslo", "Hello Rome"]
    assert suite["metrics"] == [
        {"not-contains": {"any": ["sorry"]}},
        {"similarity": {"positive": 0.75}},
        {"evalmark.scorers:Assertions": {"name": "assertions"}},
    ]
    assert tuple(cases[0].metadata["assert"]) == ({"contains": {"ignore_case": True, "any": ["hello"]}},)
    assert validate(tmp_path / "in" / "suite.yaml", Settings()) == []


def test_of_several_references_that_stays_which_can_stand_nowhere_else(tmp_path):
    asserts = [{"type": "equals", "value": "a"}, {"type": "contains", "value": "b"}, {"type": "similar", "value": "c"}]
    imported, suite, (case,) = moved(tmp_path, config({"vars": {"city": "Oslo"}, "assert": asserts}))
    assert (case.expected, imported.dropped) == ("c", ())
    assert tuple(case.metadata["assert"]) == ({"regex": {"pattern": "a", "full": True}}, {"contains": {"any": ["b"]}})
    assert suite["metrics"][0] == {"similarity": {"positive": 0.75}}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"type": "g-eval", "value": "x", "threshold": "high"}, "not a number from 0 to 1"),
        ({"type": "not-g-eval", "value": "x"}, "cannot negate"),
        ({"type": "context-faithfulness", "threshold": 0.9}, "no variable `context`"),
        ({"type": "context-relevance", "threshold": 0.9}, "no variable `context`"),
        ({"type": "context-recall", "value": "x"}, "no variable `context`"),
        ({"type": "moderation"}, "moderation service"),
        ({"type": "classifier", "value": "x"}, "a classifier"),
        ({"type": "guardrails"}, "guardrails"),
        ({"type": "is-refusal"}, "a list of its own"),
        ({"type": "perplexity", "threshold": 5}, "no probabilities"),
        ({"type": "cost"}, "which cost needs"),
        ({"type": "finish-reason", "value": "length"}, "is an error"),
        ({"type": "is-valid-openai-tools-call"}, "list of tools"),
        ({"type": "similar", "value": "x", "weight": 0}, "its weight is 0"),
        ({"type": "similar", "value": "x", "threshold": 8}, "not a number from 0 to 1"),
        ({"type": "similar:dot", "value": "x"}, "evalmark has no metric for"),
        ({"type": "not-similar", "value": "x"}, "cannot negate"),
        ({"type": "contains", "value": True}, "not a text"),
        ({"type": "contains-any", "value": ["a", ""]}, "an empty one"),
        ({"type": "contains-any", "value": '"a, b'}, "is not closed"),
        ({"type": "contains", "value": "{{ env.CITY }}"}, "no variable of the test"),
        ({"type": "contains", "value": "{{ more }}"}, "is neither a text nor a number"),
        ({"type": "is-json", "value": "file://schema.json"}, "cannot be read"),
        ({"type": "contains", "value": "file://value.py"}, "made by code"),
        ({"type": "is-json", "value": [1]}, "not a JSON Schema"),
        ({"type": "word-count", "value": {"min": 1, "max": "9"}}, "not a count of words"),
        ({"type": "regex", "value": "a++"}, "JavaScript does not allow"),
        ({"type": "regex", "value": "["}, "not closed"),
        ({"type": "starts-with", "value": 4}, "not a text"),
        ({"type": "select-best", "value": "x"}, "evalmark compare"),
        ({"type": "assert-set", "threshold": 0.5, "assert": [{"type": "similar", "value": "a"}]}, "cannot have checks of similarity"),
        ({"type": "assert-set", "threshold": 0.5, "assert": [{"type": "webhook", "value": "a"}]}, "webhook: it would send"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_an_assertion_that_would_mean_something_else_is_left_out_and_named(tmp_path, said, why):
    said = yaml.safe_load(yaml.safe_dump(said).replace("\\\\", "\\"))
    test = {"vars": {"city": "Oslo", "more": {"a": 1}}, "assert": [{"type": "contains", "value": "O"}, said]}
    imported = lost(tmp_path, config(test))
    [part] = imported.dropped
    assert part.outcome == "left out"
    assert part.name.startswith(f"{tmp_path}/promptfooconfig.yaml:")
    assert said["type"] in part.name
    assert why in part.to
    assert yaml.safe_load(imported.files["suite.yaml"])["metrics"] == ["contains"]


@pytest.mark.parametrize(
    ("options", "asserts", "why"),
    [
        ({"transform": "fetch(output)"}, [{"type": "contains", "value": "a"}], "`transform` is code"),
        ({"postprocess": "file://x.js"}, [{"type": "equals", "value": "a"}], "`postprocess` is code"),
        ({"rubricPrompt": "Judge!"}, [{"type": "g-eval", "value": "a"}], "its own `rubricPrompt`"),
        ({"factuality": {"subset": 0}}, [{"type": "factuality", "value": "a"}], "its own `factuality`"),
        ({"prefix": "Please: "}, [], "evalmark does not support it"),
        ({"transformVars": "vars"}, [], "evalmark does not support it"),
        ({"storeOutputAs": "x"}, [], "evalmark does not support it"),
    ],
    ids=str,
)
def test_options_of_the_default_test_count_for_all_tests(tmp_path, options, asserts, why):
    whole = config({"vars": {"city": "Oslo"}, "assert": asserts}, defaultTest={"options": options})
    [part] = lost(tmp_path, whole).dropped
    assert why in part.to


def test_a_grader_in_the_options_judges(tmp_path):
    default = {"options": {"provider": {"text": "openai:chat:judge"}}}
    test = {"vars": {"city": "Oslo"}, "assert": [{"type": "llm-rubric", "value": "Is kind"}]}
    imported, suite, _ = moved(tmp_path, config(test, defaultTest=default))
    assert imported.dropped == ()
    assert suite["metrics"] == [{"closed_qa": {"criteria": "Is kind", "judge": "openai/judge"}}]


def test_thresholds_of_judges_are_those_of_promptfoo(tmp_path):
    asserts = [
        {"type": "g-eval", "value": "Is kind"},
        {"type": "g-eval", "value": "Is short", "threshold": 0.9},
        {"type": "factuality", "value": "Oslo"},
    ]
    _, suite, _ = moved(tmp_path, config({"vars": {"city": "Oslo"}, "assert": asserts}))
    assert [next(iter(m.values())).get("threshold") for m in suite["metrics"]] == [0.7, 0.9, 0.4]


@pytest.mark.parametrize(
    ("key", "said", "why"),
    [
        ("provider", "openai:chat:other", "for one test"),
        ("prompts", ["a"], "for one test"),
        ("assertScoringFunction", "file://s.js", "it is code"),
    ],
)
def test_what_changes_the_verdict_of_a_test_is_named(tmp_path, key, said, why):
    [part] = lost(tmp_path, config({"vars": {"city": "Oslo"}, key: said})).dropped
    assert part.name.endswith(f"$.tests[0] {key}")
    assert why in part.to


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ('[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/{{city}}"}}]}]', "builds the address"),
        ('[{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]', "neither a text nor the address"),
        ('[{"role": "system", "content": "x"}, {{messages}}]', "valid only after"),
        ('[{"role": "user", "content": "a", "name": "x"}]', "not every message has a role and a content"),
        ('{"messages": []}', "not every message has a role"),
        ("- role: user\n  content:\n  - type: image\n", "neither a text nor the address of a picture"),
        ("Say {{ city | wordwrap }}", "cannot be rendered here"),
        ("Say {{ env.HOME }} {{city}}", "environment variable HOME"),
        ("file://gone.txt", "cannot be read"),
        ("prompts.xlsx", "cannot be read"),
    ],
)  # fmt: skip
def test_a_prompt_that_would_ask_something_else_is_left_out(tmp_path, prompt, why):
    imported = lost(tmp_path, config({"vars": {"city": "Oslo"}}, prompts=[prompt]))
    [part] = imported.dropped
    assert why in part.to
    assert (
        "prompts can be imported" in imported.lacks_target
    )  # a model without the prompt would be asked something else


@pytest.mark.parametrize("prompt", ["[INST] {{city}} [/INST]", "{{city}}", "1. {{city}}", "[city]: {{city}}"])
def test_a_prompt_that_only_looks_like_data_is_a_text(tmp_path, prompt):
    imported, suite, _ = moved(tmp_path, config({"vars": {"city": "Oslo"}}, prompts=[prompt]))
    assert imported.dropped == ()
    [message] = yaml.safe_load(imported.files[suite["target"]["prompt"]])["messages"]
    assert message == {"role": "user", "content": prompt}


def test_without_prompts_the_variable_of_that_name_is_asked(tmp_path):
    whole = {key: said for key, said in config({"vars": {"prompt": "Hello"}}).items() if key != "prompts"}
    imported, suite, _ = moved(tmp_path, whole)
    assert yaml.safe_load(imported.files[suite["target"]["prompt"]])["messages"][0]["content"] == "{{prompt}}"


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"city": "file://gone.txt"}, "there is no such file"),
        ({"city": "file://city.py"}, "is code"),
        ({"city": "file://city.pdf"}, "is a .pdf file"),
        ({"city": "{{ land | nl2br }}", "land": "x"}, "more than fill in variables"),
    ],
)
def test_a_test_whose_variables_are_not_known_is_left_out(tmp_path, variables, why):
    imported = lost(tmp_path, config({"vars": variables}, {"vars": {"city": "Rome"}}), **{"city.py": "boom("})
    [part] = imported.dropped
    assert part.name.endswith("$.tests[0]")
    assert why in part.to
    assert "Rome" in imported.files["cases.jsonl"]


def test_variables_may_name_others(tmp_path):
    _, _, (case,) = moved(tmp_path, config({"vars": {"city": "the city of {{name}}", "name": "Oslo"}}))
    assert case.input["city"] == "the city of Oslo"


def test_given_outputs_are_those_of_all_tests_or_of_none(tmp_path):
    tests = [{"vars": {"city": "Oslo"}, "providerOutput": "Oslo"}, {"vars": {"city": "Rome"}}]
    [part] = lost(tmp_path / "some", config(*tests)).dropped
    assert "its output is given" in part.to
    whole, suite, (case,) = moved(tmp_path / "all", config(tests[0]))
    assert (whole.dropped, suite.get("target"), case.given.value) == ((), None, "Oslo")


@pytest.mark.parametrize(
    ("providers", "why"),
    [
        ([{"id": "openai:chat:a", "transform": "output.trim()"}], "`transform` is code"),
        ([{"id": "openai:chat:a", "prompts": ["p1"]}], "name none of the prompts: p1"),
        ([{"id": "openai:chat:a", "config": {"tools": [{"type": "web_search_preview"}]}}], "runs these tools itself"),
        ([{"id": "openai:chat:a", "config": {"temperature": "{{t}}"}}], "settings are the same for all cases"),
        (["openai:realtime:a"], "evalmark does not support this provider"),
        (["openai:embedding:a"], "evalmark does not support this provider"),
        (["anthropic:claude-agent-sdk"], "evalmark does not support this provider"),
        (["{{env.MODEL}}"], "name the model with --map-provider"),
        (["file://gone.yaml"], "its file cannot be read"),
    ],
)
def test_a_provider_that_would_answer_otherwise_is_named(tmp_path, providers, why):
    [part] = lost(tmp_path, config({"vars": {"city": "Oslo"}}, providers=providers)).dropped
    assert why in part.to


def test_what_has_no_effect_is_told_and_loses_nothing(tmp_path):
    whole = config(
        {"vars": {"city": "Oslo"}, "assert": [{"type": "contains", "value": "O", "weight": 3}]},
        sharing=False,
        providers=[{"id": "openai:chat:a", "label": "mine", "config": {"apiKey": "secret"}}],
    )
    imported = lost(tmp_path, whole)
    assert imported.dropped == ()
    names = [part.name.rsplit(" ", 1)[1] for part in imported.parts if part.outcome == "no effect"]
    assert names == ["apiKey", "sharing", "weight"]


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("is-json", "is_json"),
        ("not-contains: sorry", "not-contains"),
        ("similar: Oslo", {"similarity": {"positive": 0.8}}),
        ("contains:Oslo", "contains"),
        ("not-contains:sorry", "not-contains"),
        ("levenshtein: Oslo", {"evalmark.scorers:PromptfooAssertion": {"assertion": {"type": "levenshtein", "value": "Oslo", "threshold": 0.75}}}),
        ("bleu(0.3): Oslo", {"evalmark.scorers:PromptfooAssertion": {"assertion": {"type": "bleu", "value": "Oslo"}}}),
        ("cost", {"evalmark.scorers:PromptfooAssertion": {"assertion": {"type": "cost", "threshold": 0.75}}}),
        ("costs: 3", "equals"),
        ("latency(200)", {"time": {"seconds": 0.2}}),
    ],
)  # fmt: skip
def test_a_cell_of_a_csv_file_is_read_as_promptfoo_reads_it(tmp_path, cell, wanted):
    rows = f'city,__expected,__metric\nOslo,"{cell}",m\n'
    imported, suite, _ = moved(tmp_path, config("rows.csv"), **{"rows.csv": rows})
    [metric] = suite["metrics"]
    name, settings = next(iter(metric.items()))
    assert settings.pop("name") == "m"
    assert imported.dropped == ()
    assert (name if isinstance(wanted, str) else {name: settings}) == wanted


@pytest.mark.parametrize("column", ["__prefix", "__config:__expected:threshold"])
def test_a_column_of_a_csv_file_that_changes_the_meaning_is_named(tmp_path, column):
    rows = f"city,__expected,{column}\nOslo,Oslo,0.5\n"
    [part] = lost(tmp_path, config("rows.csv"), **{"rows.csv": rows}).dropped
    assert part.name.startswith(f"{tmp_path}/rows.csv:2")


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"^\d+$", "42", True),
        (r"^\d+$", "42\n", False),
        (r"\d", "\u0664", False),
        (r"^\w+$", "é", False),
        (r"\s", "\u00a0", True),
        (r"\s", "\x1c", False),
        (r"a.b", "a\u2028b", False),
        (r"a.b", "a\nb", False),
        (r"[\w-]+@[\w.]+", "a-b@c.d", True),
        (r"^(?:a|b){2}$", "ab", True),
        (r"a{,2}", "a{,2}", True),
        (r"a{,2}", "aa", False),
        (r"^(?<year>\d{4})-", "2026-", True),
        (r"[[]x", "[x", True),
        (r"\/\.", "/.", True),
        (r"(?<!a)b", "ab", False),
        (r"x{e}", "x{e}", True),
    ],
)
def test_a_pattern_matches_what_it_matches_in_javascript(pattern, text, matches):
    assert Regex(python_pattern(pattern))(Case(id="1"), Output(value=text)).passed is matches


def test_a_whole_object_is_compared(tmp_path):
    test = {"vars": {"city": "Oslo"}, "assert": [{"type": "equals", "value": {"a": 1}}]}
    _, suite, (case,) = moved(tmp_path, config(test))
    [metric] = suite["metrics"]
    answers = ['{"a": 1}', '{"a": 1, "b": 2}', '{"a": 1, "error": "x"}', "no"]
    cases = [Case(id=text, expected=case.expected, given=Output(value=text)) for text in answers]
    run = evaluate(cases, None, [resolve_scorer("structured_output", metric["structured_output"])], store=None)
    assert [result.verdict for result in run.results] == ["pass", "fail", "fail", "fail"]


def test_a_reference_to_an_assertion_of_the_file_is_that_assertion(tmp_path):
    refs = [{"$ref": "#/assertionTemplates/noise", "metric": "m"}, {"$ref": "#/assertionTemplates/gone"}]
    test = {"vars": {"city": "Oslo"}, "assert": [*refs, {"type": "assert-set", "assert": [refs[0], {"value": 1}]}]}
    templates = {"noise": {"type": "icontains", "value": "arrr"}}
    imported, _, (case,) = moved(tmp_path, config(test, assertionTemplates=templates))
    assert [part.to for part in imported.dropped] == [
        "'#/assertionTemplates/gone' is not in the file",
        "an assertion of the set has no `type`",
    ]
    assert list(case.metadata["assert"]) == [{"contains": {"ignore_case": True, "name": "m"}}] * 2


def test_the_threshold_of_a_row_of_a_csv_file_decides_by_the_mean(tmp_path):
    rows = "city,__expected,__expected2,__threshold\nOslo,contains:O,contains:x,0.5\nRome,contains:R,contains:x,\n"
    imported, _, cases = moved(tmp_path, config("rows.csv"), **{"rows.csv": rows})
    assert imported.dropped == ()
    [whole] = cases[0].metadata["assert"]
    assert whole["set"]["threshold"] == 0.5
    assert len(whole["set"]["checks"]) == 2
    assert not any("set" in check for check in cases[1].metadata["assert"])


@pytest.mark.parametrize("options", [{}, {"threshold": 0.5}], ids=str)
def test_a_set_within_a_set_always_fails_in_promptfoo_so_it_is_left_out(tmp_path, options):
    inner = {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "contains", "value": "O"}]}
    whole = {"type": "assert-set", "assert": [inner, {"type": "contains", "value": "s"}], **options}
    [part] = lost(tmp_path, config({"vars": {"city": "Oslo"}, "assert": [whole]})).dropped
    assert "is a set itself" in part.to


@pytest.mark.parametrize("kind", ["gleu", "not-gleu"])
def test_an_empty_output_fails_gleu_also_negated(kind):
    score = PromptfooAssertion(assertion={"type": kind, "value": "a", "threshold": 0})(Case(id="1"), Output(value=""))
    assert score.passed is False


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("{{ big }} {{ small }}", "1e+21 1e-7"),
        ("{{ true }}", "true"),
        ("{{ data | dump }}", '{"a":[1,"é"],"b":{}}'),
        ("{% if text %}{{ data | dump }}{% endif %}", None),
        ("{% if data.b %}yes{% endif %}", None),
        ("{{ 'yes' if list else 'no' }}", None),
        ("{% if text %}{{ full }}{% endif %}", None),
        ("{% if text == 1 %}yes{% endif %}", None),
        ("{% if text === '1' %}yes{% endif %}", "yes"),
        ("{% if text %}{{ two }} {{ small }} {{ yes }}{% endif %}", "2 1e-7 true"),
        ("{% for one in full %}{{ one }};{% endfor %}", "1;2;"),
        ("{{ text.length }}", None),
    ],
)
def test_a_value_is_filled_in_as_javascript_writes_it_or_left_out(tmp_path, value, filled):
    data = {"a": [1, "é"], "b": {}}
    variables = {
        "big": 1e21,
        "small": 1e-7,
        "data": data,
        "list": [],
        "full": [1, 2],
        "text": "1",
        "two": 2.0,
        "yes": True,
    }
    test = {"vars": variables, "assert": [{"type": "equals", "value": value}]}
    imported, _, (case,) = moved(tmp_path, config(test))
    if filled is None:
        assert len(imported.dropped) == 1
    else:
        assert case.expected == filled


@pytest.mark.parametrize(
    ("prompt", "variables", "change"),
    [
        ("{{ a }}", {"a": {"k": 1}}, "are written as JSON"),
        ("{{ a }}", {"a": 1.0}, "are written as JSON"),
        ("{{ a | dump }}", {"a": {"k": 1}}, "with spaces after commas"),
        ("{% if a %}Y{% endif %}", {"a": {}}, "counts as false"),
        ("{% if a == 3 %}Y{% endif %}", {"a": "3"}, "equal to its text"),
        ("{% if a is defined %}Y{% endif %}", {"b": "3"}, "is an empty text"),
        ("{% if a %}{{ a }}{% endif %}", {"a": "x"}, ""),
        ("{% for one in a %}{{ one.k }}{% endfor %}", {"a": [{"k": 1}]}, ""),
        ('[{"role": "user", "content": "{{ a }}"}]', {"a": "x"}, ""),
    ],
)
def test_a_prompt_that_becomes_another_text_than_in_promptfoo_is_reported_as_changed(
    tmp_path, prompt, variables, change
):
    options = {"disableVarExpansion": True}
    imported = lost(tmp_path, config({"vars": variables, "options": options}, prompts=[prompt]))
    outcomes = [(part.outcome, part.to) for part in imported.parts if "prompts[0]" in part.name]
    assert len(outcomes) == 1
    assert outcomes[0][0] == ("changed" if change else "kept")
    assert change in outcomes[0][1]


def test_an_address_with_a_password_goes_nowhere(tmp_path):
    provider = {"id": "openai:chat:a", "config": {"apiBaseUrl": "https://user:hunter2@127.0.0.1/v1"}}
    imported = lost(tmp_path, config({"vars": {"city": "Oslo"}}, providers=[provider]))
    assert "credentials" in imported.dropped[0].to
    assert "hunter2" not in repr(imported)


@pytest.mark.parametrize(
    ("provider", "asserts"),
    [
        ({"id": "https://127.0.0.1/x?api_key=hunter2", "config": {"body": {"q": "{{prompt}}"}}}, []),
        ({"id": "https://user:hunter2@127.0.0.1/x", "config": {"body": {"q": "{{prompt}}"}}}, []),
        ({"id": "https://127.0.0.1/x", "config": {"body": {"q": "{{prompt}}", "deep": [{"password": "hunter2"}]}}}, []),
        ({"id": "https://127.0.0.1/x", "config": {"queryParams": {"token": "hunter2"}, "body": {"q": "{{prompt}}"}}}, []),
        ({"id": "exec:python3 run.py --token hunter2"}, []),
        ({"id": "exec:API_KEY=hunter2 python3 run.py"}, []),
        ("openai:chat:a", [{"type": "javascript", "value": "true", "config": {"apiKey": "hunter2"}}]),
        ("openai:chat:a", [{"type": "python", "value": "True", "config": {"apiKey": "hunter2"}}]),
    ],
)  # fmt: skip
def test_a_secret_in_a_config_reaches_no_file_and_no_report(tmp_path, provider, asserts):
    whole = config({"vars": {"city": "Oslo"}, "assert": asserts}, providers=[provider])
    laid_out(tmp_path, {"promptfooconfig.yaml": yaml.safe_dump(whole)})
    imported = import_promptfoo(tmp_path, ImportOptions(code=("all",)))
    assert any("contains a secret" in part.to for part in imported.dropped)
    assert "hunter2" not in repr(imported.files)


def test_a_secret_that_is_a_variable_of_the_test_or_of_the_environment_is_none(tmp_path):
    body = {"q": "{{prompt}}", "token": "{{ city }}"}
    providers = [
        {"id": "https://127.0.0.1/x", "config": {"body": body}},
        "exec:python3 run.py --max-tokens 5 --token $KEY",
    ]
    laid_out(
        tmp_path, {"promptfooconfig.yaml": yaml.safe_dump(config({"vars": {"city": "Oslo"}}, providers=providers))}
    )
    assert import_promptfoo(tmp_path, ImportOptions(code=("all",))).dropped == ()
