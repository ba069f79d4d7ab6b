"""Files as the other tools write them themselves, without anything of ours in them."""

import json
from dataclasses import replace

import pytest
import yaml

from evalmark import Output, evaluate
from evalmark.cli.commands.file_checks import validate
from evalmark.core.settings import Settings
from evalmark.errors import DataError
from evalmark.inputs.datasets.reader import read_cases
from evalmark.inputs.suites.reader import read_suite
from evalmark.interop.github_models.importer import import_github_models
from evalmark.interop.openai_evals.importer import import_openai_evals
from evalmark.interop.openai_evals.registry_importer import import_openai_registry
from evalmark.interop.shared.assertions import Assertions
from evalmark.judges import read_metric
from evalmark.scoring.binding.registry import resolve_scorer

from .carried import laid_out

ITEM = {"ticket": "My monitor is dead", "correct_label": "Hardware"}
EVAL = {
    "object": "eval",
    "id": "eval_1",
    "name": "Tickets",
    "data_source_config": {"type": "custom", "schema": {}},
    "testing_criteria": [
        {"type": "string_check", "name": "Match", "input": "{{ sample.output_text }}", "reference": "{{ item.correct_label }}", "operation": "eq"},
        {"type": "text_similarity", "name": "near", "input": "{{sample.output_text}}", "reference": "x", "evaluation_metric": "bleu", "pass_threshold": 0.5},
        {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1.0"},
        {"type": "azure_ai_evaluator", "name": "coherence", "evaluator_name": "builtin.coherence"},
        {
            "type": "score_model", "name": "quality", "model": "judge", "range": [0, 1], "pass_threshold": 0.6,
            "input": [{"role": "developer", "content": [{"type": "input_text", "text": "Score {{item.ticket}}"}]}, {"role": "user", "content": "{{sample.output_text}} {% x %} {{y}}"}],
        },
    ],
}  # fmt: skip
RUN = {
    "object": "eval.run", "id": "evalrun_1", "eval_id": "eval_1", "name": "first", "model": "small",
    "data_source": {
        "type": "completions", "model": "small", "source": {"type": "file_content", "content": [{"item": ITEM}]},
        "input_messages": {"type": "template", "template": [{"type": "message", "role": "developer", "content": {"type": "input_text", "text": "Sort: {{item.ticket}}"}}]},
    },
}  # fmt: skip
OUTPUTS = {
    "object": "list",
    "has_more": False,
    "data": [
        {
            "object": "eval.run.output_item", "id": "o1", "run_id": "evalrun_1", "eval_id": "eval_1", "created_at": 1_753_000_000, "status": "fail",
            "datasource_item_id": 0, "datasource_item": ITEM,
            "results": [{"name": "Match-1234", "passed": False, "score": 0.0, "type": "string_check", "sample": None}],
            "sample": {"model": "small-2025", "output": [{"role": "assistant", "content": "Software"}], "error": None, "seed": 42},
        },
        {
            "object": "eval.run.output_item", "id": "o2", "run_id": "evalrun_1", "status": "error", "datasource_item": ITEM, "results": [],
            "sample": {"model": "small-2025", "output": [], "error": {"code": "server_error", "message": "overloaded"}},
        },
    ],
}  # fmt: skip


def suite_of(imported, folder):
    laid_out(folder, imported.files)
    return read_suite(folder / "suite.yaml"), list(read_cases(folder / "cases.jsonl"))


def test_what_the_api_of_openai_gives_is_read(tmp_path):
    out = laid_out(
        tmp_path / "out", {"e.json": json.dumps(EVAL), "r.json": json.dumps(RUN), "o.json": json.dumps(OUTPUTS)}
    )
    imported = import_openai_evals(out)
    [run] = imported.runs
    wrong, broken = run.results
    assert (wrong.output.value, wrong.verdict, wrong.trial.target) == ("Software", "fail", "openai/small")
    assert [score.name for score in wrong.scores] == ["Match"]
    assert (wrong.trial.case.expected, wrong.trial.case.input) == ("Hardware", {"ticket": "My monitor is dead"})
    assert broken.output.error == "overloaded"
    assert (run.name, run.given_name, run.suite) == ("Tickets", "first", "suite.yaml")
    outcomes = {name: part.outcome for part in imported.parts for name in (part.name, *part.others)}
    graders = {name.split("'")[1]: outcome for name, outcome in outcomes.items() if "testing_criteria" in name}
    assert graders == {
        "Match": "kept",
        "near": "kept",
        "code": "left out",
        "coherence": "changed",
        "quality": "left out",
    }
    suite, cases = suite_of(imported, tmp_path / "in")
    assert [metric.label for metric in suite.metrics] == ["Match", "near", "coherence"]
    assert cases[0].expected == "Hardware"
    assert suite.target.models == ("openai/small",)
    assert "def grade" not in str(imported.files)


def test_two_evals_of_a_folder_are_two_suites(tmp_path):
    other = {
        **EVAL,
        "id": "eval_2",
        "name": "Moods",
        "testing_criteria": [{**EVAL["testing_criteria"][0], "operation": "like"}],
    }
    again = {**RUN, "id": "evalrun_2", "eval_id": "eval_2"}
    again["data_source"] = {**RUN["data_source"], "source": {"type": "file_content", "content": [{"item": {**ITEM, "ticket": "Hm"}}]}}  # fmt: skip
    files = {"e.json": [EVAL, other], "r.json": [RUN, again], "o.json": OUTPUTS}
    imported = import_openai_evals(laid_out(tmp_path / "out", {name: json.dumps(data) for name, data in files.items()}))
    assert imported.suites == ("Tickets/suite.yaml", "Moods/suite.yaml")
    laid_out(tmp_path / "in", imported.files)
    tickets, moods = (read_suite(tmp_path / "in" / name) for name in imported.suites)
    assert [metric.label for metric in tickets.metrics] == ["Match", "near", "coherence"]
    assert [metric.name for metric in moods.metrics] == ["contains"]
    [case] = read_cases(tmp_path / "in" / "Moods" / "cases.jsonl")
    assert (case.input, case.expected) == ({"ticket": "Hm"}, "Hardware")
    assert [len(run.results) for run in imported.runs] == [2]


def test_what_belongs_to_none_of_two_evals_is_refused(tmp_path):
    files = {"e.json": [EVAL, {**EVAL, "id": "eval_2"}], "rows.jsonl": {"item": ITEM}}
    with pytest.raises(DataError, match=r"rows.jsonl:1: it is unclear to which of the 2 evals this belongs"):
        import_openai_evals(laid_out(tmp_path, {name: json.dumps(data) for name, data in files.items()}))


def test_prompts_of_a_folder_that_judge_otherwise_are_suites_of_their_own(tmp_path):
    prompt = {
        "name": "x",
        "messages": [{"role": "user", "content": "{{input}}"}],
        "testData": [{"input": "a", "expected": "b"}],
    }
    judged = [[{"name": "e", "string": {operation: "{{expected}}"}}] for operation in ("equals", "contains")]
    files = {
        "1.prompt.yml": {**prompt, "model": "openai/a", "evaluators": judged[0]},
        "2.prompt.yml": {**prompt, "model": "openai/b", "evaluators": judged[0]},
        "3.prompt.yml": {**prompt, "name": "y", "model": "openai/a", "evaluators": judged[1]},
    }
    imported = import_github_models(laid_out(tmp_path / "out", {n: yaml.safe_dump(d) for n, d in files.items()}))
    assert imported.suites == ("x/suite.yaml", "y/suite.yaml")
    laid_out(tmp_path / "in", imported.files)
    one, other = (read_suite(tmp_path / "in" / name) for name in imported.suites)
    assert (one.target.models, other.target.models) == (("openai/a", "openai/b"), ("openai/a",))
    assert [[metric.name for metric in suite.metrics] for suite in (one, other)] == [["equals"], ["contains"]]
    assert all(validate(tmp_path / "in" / name, Settings()) == [] for name in imported.suites)


def test_an_eval_of_promptpex_is_read(shared, tmp_path):
    file = shared / "data" / "promptpex" / "samples" / "speech-tag" / "speech-tag" / "evals.create.json"
    imported = import_openai_evals(file)
    assert [part.outcome for part in imported.parts] == ["changed", "no effect"]
    assert "told to reply" in imported.parts[0].to


SAMPLES = '{"input": [{"role": "system", "content": "Answer."}, {"role": "user", "content": "2+2?"}], "ideal": ["4", "four"]}\n{"input": "Sky?", "ideal": "blue", "level": 1}\n'
REGISTRY = {
    "sums": {"id": "sums.dev.v0", "metrics": ["accuracy"]},
    "sums.dev.v0": {
        "class": "evals.elsuite.basic.match:Match",
        "args": {"samples_jsonl": "sums/samples.jsonl"},
    },
    "facts.dev.v0": {
        "class": "evals.elsuite.modelgraded.classify:ModelBasedClassify",
        "args": {"samples_jsonl": "facts/samples.jsonl", "modelgraded_spec": "fact"},
    },
    "own.dev.v0": {"class": "my_evals.own:Own", "args": {}},
    "plan.dev.v0": {"class": "evals.elsuite.make_me_pay.eval:MakeMePay", "args": {}},
}
GRADED = {
    "fact": {
        "prompt": "Q {input} A {completion} E {ideal} {{x}}",
        "choice_strings": "YN",
        "choice_scores": {"Y": 1.0, "N": 0.0},
        "input_outputs": {"input": "completion"},
    }
}
LOG = [
    {
        "spec": {
            "completion_fns": ["gpt-x"],
            "eval_name": "sums.dev.v0",
            "base_eval": "sums",
            "split": "dev",
            "run_config": {},
            "created_by": "",
            "run_id": "1",
            "created_at": "2026-11-21 10:15:00",
        }
    },
    {
        "run_id": "1",
        "event_id": 0,
        "sample_id": "sums.dev.1",
        "type": "sampling",
        "data": {"prompt": "Sky?", "sampled": ["blue"]},
        "created_by": "",
        "created_at": "",
    },
    {
        "run_id": "1",
        "event_id": 1,
        "sample_id": "sums.dev.1",
        "type": "match",
        "data": {"correct": True, "expected": "blue", "picked": "blue", "sampled": "blue"},
        "created_by": "",
        "created_at": "",
    },
    {
        "run_id": "1",
        "event_id": 2,
        "sample_id": "sums.dev.0",
        "type": "sampling",
        "data": {"prompt": [], "sampled": "5"},
        "created_by": "",
        "created_at": "",
    },
    {
        "run_id": "1",
        "event_id": 3,
        "sample_id": "sums.dev.0",
        "type": "match",
        "data": {"correct": False, "expected": "4"},
        "created_by": "",
        "created_at": "",
    },
    {"final_report": {"accuracy": 0.5}, "run_id": "1"},
]


def test_the_samples_of_a_log_are_those_of_its_eval(tmp_path):
    """A sample is named by its number, which says nothing among the samples of other evals."""
    evals = {
        "first.dev.v0": {"class": "evals.elsuite.basic.match:Match", "args": {"samples_jsonl": "a/samples.jsonl"}},
        "sums.dev.v0": {"class": "evals.elsuite.basic.match:Match", "args": {"samples_jsonl": "sums/samples.jsonl"}},
    }
    files = {
        "evals/all.yaml": yaml.safe_dump(evals, sort_keys=False),
        "data/a/samples.jsonl": '{"input": "another", "ideal": "x"}\n{"input": "more", "ideal": "y"}\n',
        "data/sums/samples.jsonl": SAMPLES,
        "logs/x.jsonl": "".join(json.dumps(row) + "\n" for row in LOG),
    }
    imported = import_openai_registry(laid_out(tmp_path, files))
    assert {result.trial.case.input: result.trial.case.expected for result in imported.run.results} == {
        "Sky?": "blue",
        "2+2?": "4",
    }


@pytest.mark.parametrize(
    ("criterion", "why"),
    [
        pytest.param(
            {"type": "text_similarity", "input": "{{sample.output_text}}", "reference": "x", "evaluation_metric": "cosine", "pass_threshold": 0.5},
            "compares embeddings of something else",
            id="a text",
        ),
        pytest.param(
            {"type": "text_similarity", "input": "{{item.ticket}}", "reference": "{{item.correct_label}}", "evaluation_metric": "cosine", "pass_threshold": 0.5},
            "compares embeddings of something else",
            id="an input",
        ),
    ],
)  # fmt: skip
def test_a_criterion_that_compares_with_something_else_is_left_out(tmp_path, criterion, why):
    body = {**EVAL, "testing_criteria": [EVAL["testing_criteria"][0], {"name": "more", **criterion}]}
    out = laid_out(tmp_path, {"e.json": json.dumps(body), "r.json": json.dumps(RUN)})
    (part,) = [part for part in import_openai_evals(out).parts if "'more'" in part.name]
    assert part.outcome == "left out"
    assert why in part.to


def registry(folder, evals=REGISTRY, samples=SAMPLES, **more):
    files = {
        "evals/sums.yaml": yaml.safe_dump(evals, sort_keys=False),
        "modelgraded/fact.yaml": yaml.safe_dump(GRADED),
        "data/sums/samples.jsonl": samples,
        "data/facts/samples.jsonl": '{"input": "Grass?", "ideal": "green"}\n',
    }
    return import_openai_registry(laid_out(folder, {**files, **more}))


def test_a_registry_is_read_with_its_logs(tmp_path):
    log = "".join(json.dumps(row) + "\n" for row in LOG)
    imported = registry(tmp_path / "out", **{"logs/x.jsonl": log})
    by_sample = {result.trial.case.input: result for result in imported.run.results}
    assert (by_sample["Sky?"].verdict, by_sample["2+2?"].verdict) == ("pass", "fail")
    assert by_sample["2+2?"].trial.case.liked == ("4", "four")
    assert by_sample["Sky?"].trial.case.metadata == {"level": 1}
    fates = {part.name.split(" ")[1]: part.outcome for part in imported.parts if "evals/sums.yaml" in part.name}
    assert fates == {
        "sums.dev.v0": "changed",  # a sample has a text as its input
        "facts.dev.v0": "changed",
        "own.dev.v0": "left out",
        "plan.dev.v0": "left out",
    }


def test_evals_over_other_samples_are_suites_of_their_own(tmp_path):
    imported = registry(tmp_path / "out")
    assert imported.suites == ("sums/suite.yaml", "facts/suite.yaml")
    laid_out(tmp_path / "in", imported.files)
    sums, facts = (read_suite(tmp_path / "in" / name) for name in imported.suites)
    assert [metric.label for metric in sums.metrics] == ["sums"]
    assert [metric.label for metric in facts.metrics] == ["facts"]
    sum_case, sky = read_cases(tmp_path / "in" / "sums" / "cases.jsonl")
    [grass] = read_cases(tmp_path / "in" / "facts" / "cases.jsonl")
    assert ([turn.role for turn in sum_case.history], sky.liked, grass.expected) == (["system"], ("blue",), "green")
    assert facts.metrics[0].settings["spec"] == {
        key: GRADED["fact"][key] for key in ("prompt", "choice_strings", "choice_scores")
    }
    assert all(validate(tmp_path / "in" / name, Settings()) == [] for name in imported.suites)


def basic(kind, **args):
    return {
        "sums.dev.v0": {"class": f"evals.elsuite.basic.{kind}", "args": {"samples_jsonl": "sums/samples.jsonl", **args}}
    }


def scores(folder, evals, answers, samples=SAMPLES):
    """What the suite of the evals says of answers, one for each sample."""
    imported = registry(folder / "out", evals, samples)
    assert imported.dropped == ()
    laid_out(folder / "in", imported.files)
    cases = read_cases(folder / "in" / "cases.jsonl")
    given = [replace(case, given=Output(value=answer)) for case, answer in zip(cases, answers, strict=True)]
    metrics = read_suite(folder / "in" / "suite.yaml").metrics
    settings = [{name: value for name, value in metric.settings.items() if name != "name"} for metric in metrics]
    scorers = [resolve_scorer(metric.name, said) for metric, said in zip(metrics, settings, strict=True)]
    run = evaluate(given, None, scorers, store=None)
    return [result.verdict for result in run.results]


@pytest.mark.parametrize(
    ("kind", "args", "answers", "verdicts"),
    [
        # A prefix of the answer, as `startswith` has it: letter by letter, and any of the ideal ones.
        ("match:Match", {}, ("four, I think", "blue."), ["pass", "pass"]),
        ("match:Match", {"max_tokens": 5}, ("4", "the blue"), ["pass", "fail"]),
        ("match:Match", {}, ("Four", "Blue"), ["fail", "fail"]),
        ("match:Match", {}, (" 4", "blu"), ["fail", "fail"]),
        # Any of them, anywhere.
        ("includes:Includes", {}, ("It is four.", "The blue sky"), ["pass", "pass"]),
        ("includes:Includes", {}, ("It is Four.", "green"), ["fail", "fail"]),
        ("includes:Includes", {"ignore_case": True}, ("It is Four.", "BLUE"), ["pass", "pass"]),
    ],
)
def test_a_class_of_the_registry_keeps_its_meaning(tmp_path, kind, args, answers, verdicts):
    assert scores(tmp_path, basic(kind, **args), answers) == verdicts


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ('{"a": 1}', "pass"),
        ('{"a": [1, 2]}', "pass"),
        ('{"a": 1, "b": 2}', "fail"),
        ('{"a": 1, "error": "x"}', "fail"),
        ("no JSON", "fail"),
    ],
)
def test_json_match_compares_all_of_it(tmp_path, answer, verdict):
    samples = json.dumps({"input": "q", "ideal": ['{"a": 1}', '{"a": [1, 2]}']}) + "\n"
    assert scores(tmp_path, basic("json_match:JsonMatch"), (answer,), samples) == [verdict]


@pytest.mark.parametrize(
    ("evals", "samples", "why"),
    [
        (basic("match:Match", num_few_shot=2), SAMPLES, "its examples None are in none of the files"),
        (basic("match:Match", few_shot_seed=2), SAMPLES, "its argument `few_shot_seed` changes"),
        (basic("includes:Includes"), '{"input": "q"}\n', "neither a text nor a list of texts"),
        (basic("match:Match"), '{"input": "q", "ideal": 4}\n', "neither a text nor a list of texts"),
        (basic("match:Match", samples_jsonl="gone.jsonl"), SAMPLES, "'gone.jsonl' are in none of the files"),
        (basic("match:Match"), '{"input": [{"role": "assistant", "content": "q"}], "ideal": "a"}\n', "neither a text nor messages"),
        (basic("match:Match"), '{"input": [{"role": "user", "content": [{"type": "image_url"}]}], "ideal": "a"}\n', "neither a text nor messages"),
        (basic("match:Match"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        (basic("match:Match"), '{"input": "q", "ideal": "a"}\n{\n', "its samples cannot be read"),
    ],
)  # fmt: skip
def test_what_would_mean_something_else_is_left_out_of_the_suite_of_a_registry(tmp_path, evals, samples, why):
    [part] = registry(tmp_path, evals, samples).dropped
    assert part.outcome == "left out"
    assert "sums" in part.name
    assert why in part.to


@pytest.mark.parametrize(
    ("change", "samples", "why"),
    [
        ({"input_outputs": {"input1": "completion1"}}, None, "compares several outputs"),
        ({"prompt": "Q {input} {rubric} {completion}"}, None, "shows {rubric}, which is not in"),
        ({"choice_strings": "from_n"}, None, "outputs of several models"),
        ({"choice_strings": "Y", "choice_scores": {"Y": 1}}, None, "fewer than two choices"),
        ({"choice_scores": "from_strings"}, None, "one is not a number"),
        ({"choice_scores": {"Y": 1.0}}, None, "one of its choices has no score"),
        ({}, '{"input": "q", "ideal": "a", "completion": "x"}\n{"input": "q", "ideal": "a"}\n', "some samples have the output"),
    ],
)  # fmt: skip
def test_a_question_that_would_show_something_else_is_left_out(tmp_path, change, samples, why):
    evals = {"facts.dev.v0": REGISTRY["facts.dev.v0"]}
    more = {"data/facts/samples.jsonl": samples} if samples else {}
    graded = yaml.safe_dump({"fact": {**GRADED["fact"], **change}})
    [part] = registry(tmp_path, evals, **more, **{"modelgraded/fact.yaml": graded}).dropped
    assert "facts.dev.v0" in part.name
    assert why in part.to


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"string": {"contains": "{{expected}}"}}, {"contains": {"ignore_case": True}}),
        ({"string": {"contains": "{{input}}"}}, "evalmark.scorers:Assertions"),
        ({"string": {"startsWith": "{{expected}}"}}, "evalmark.scorers:Assertions"),
        ({"string": {"contains": "Oslo"}}, {"contains": {"ignore_case": True, "all": ["Oslo"]}}),
        ({"string": {"equals": "{{expected}}"}}, "equals"),
        ({"string": {"equals": "a.b"}}, {"regex": {"pattern": r"a\.b", "full": True}}),
        ({"string": {"startsWith": "O"}}, {"regex": {"pattern": "^O", "ignore_case": True}}),
        ({"string": {"endsWith": "o", "startsWith": ""}}, {"regex": {"pattern": r"o\Z", "ignore_case": True}}),
        ({"uses": "github/similarity"}, "metrics/e.yaml"),
        ({"llm": {"modelId": "openai/judge", "prompt": "{{completion}} for {{input}}", "choices": [{"choice": "y", "score": 1}, {"choice": "n", "score": 0}]}}, {"metrics/e.yaml": {"judge": "openai/judge"}}),
    ],
    ids=str,
)  # fmt: skip
def test_an_evaluator_of_github_becomes_a_metric(said, wanted, tmp_path):
    prompt = {
        "name": "x", "model": "openai/small", "messages": [{"role": "user", "content": "{{input}}"}],
        "testData": [{"input": "a", "expected": "b"}], "evaluators": [{"name": "e", **said}],
    }  # fmt: skip
    file = laid_out(tmp_path, {"x.prompt.yml": yaml.safe_dump(prompt)}) / "x.prompt.yml"
    imported = import_github_models(file)
    (metric,) = yaml.safe_load(imported.files["suite.yaml"])["metrics"]
    if isinstance(metric, dict) and "name" in (settings := next(iter(metric.values()))):
        settings.pop("name")
        metric = metric if settings else next(iter(metric))
    assert metric == wanted
    if "metrics/e.yaml" in imported.files:
        laid_out(tmp_path / "in", imported.files)
        assert "b" in str(list(read_cases(tmp_path / "in" / "cases.jsonl")))
        read_metric(tmp_path / "in" / "metrics" / "e.yaml")


def test_variables_that_evaluators_alone_look_at_belong_to_their_row(tmp_path):
    prompt = {
        "name": "x", "model": "openai/small", "messages": [{"role": "user", "content": "Reply: {{input}}"}],
        "testData": [
            {"input": "hello", "string": "Hi", "expected": "a greeting"},
            {"input": "bye", "string": "See you", "no.name": 1},
        ],
        "evaluators": [
            {"name": "e", "string": {"contains": "{{string}}"}},
            {"name": "f", "string": {"startsWith": "{{string}}, {{input}}"}},
            {"name": "g", "string": {"equals": "{{completion}}"}},
        ],
    }  # fmt: skip
    imported = import_github_models(laid_out(tmp_path, {"x.prompt.yml": yaml.safe_dump(prompt)}) / "x.prompt.yml")
    folder = laid_out(tmp_path / "in", imported.files)
    assert validate(folder / "suite.yaml", Settings()) == []
    hello, bye = read_cases(folder / "cases.jsonl")
    assert (hello.input, bye.input) == ({"input": "hello", "string": "Hi"}, {"input": "bye", "string": "See you"})
    assert (hello.expected, bye.metadata["no.name"]) == ("a greeting", 1)
    judged = Assertions()(hello, Output(value="hi, Hello to you"))
    assert [(score.name, score.passed) for score in judged] == [("e", True), ("f", True)]
    assert [score.passed for score in Assertions()(bye, Output(value="hi"))] == [False, False]
    assert [part.outcome for part in imported.parts if "'g'" in part.name] == ["left out"]


def test_every_prompt_of_gh_models_is_read(shared, tmp_path):
    read = 0
    for file in sorted((shared / "data" / "gh-models").glob("*.yml")):
        if "messages" in (yaml.safe_load(file.read_text()) or {}):
            imported = import_github_models(file)
            if imported.files:
                suite_of(imported, tmp_path / file.stem)
                assert validate(tmp_path / file.stem / "suite.yaml", Settings()) == []
                read += 1
    assert read >= 5


def test_a_result_of_github_without_score_and_verdict_is_unscored(tmp_path):
    row = {
        "testCase": {"input": "a"},
        "modelResponse": "b",
        "evaluationResults": [{"evaluatorName": "x", "passed": "yes"}],
    }
    (tmp_path / "r.json").write_text(json.dumps({"name": "n", "model": "m", "testResults": [row]}))
    (result,) = import_github_models(tmp_path / "r.json").run.results
    assert [(score.status, score.passed) for score in result.scores] == [("unscored", None)]
