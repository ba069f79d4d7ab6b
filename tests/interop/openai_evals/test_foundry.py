"""Evals of Microsoft Foundry: its evaluators, its deployments, and outputs that stand in the items; hostile files of the API."""

import copy
import json
import random
from contextlib import suppress

import pytest

from evalmark.errors import EvalmarkError
from evalmark.inputs.datasets.reader import read_cases
from evalmark.inputs.suites.reader import read_suite
from evalmark.interop.openai_evals.importer import import_openai_evals
from evalmark.interop.shared.import_options import ImportOptions
from tests.interop.shared.carried import laid_out

from .account import SUMS, SUMS_RUN, TICKETS, world

HEAD = {"object": "eval", "id": "e", "name": "Support", "data_source_config": {"type": "custom", "item_schema": {}}}


def evaluator(name, **more):
    mapping = {"query": "{{item.query}}", "response": "{{item.response}}", "ground_truth": "{{item.ground_truth}}"}
    return {
        "type": "azure_ai_evaluator",
        "name": name,
        "evaluator_name": f"builtin.{name}",
        "data_mapping": mapping,
        **more,
    }


def imported(folder, criteria, *more):
    data = [{**HEAD, "testing_criteria": criteria}, *more]
    return import_openai_evals(laid_out(folder, {"a.json": json.dumps(data)}))


ROW = {"query": "Where?", "response": "In Oslo.", "ground_truth": "Oslo"}
RUN = {
    "object": "eval.run", "id": "r", "eval_id": "e", "name": "given", "created_at": 1,
    "data_source": {"type": "jsonl", "source": {"type": "file_content", "content": [{"item": ROW}]}},
}  # fmt: skip


def test_outputs_in_the_items_are_outputs_and_evaluators_are_graders(tmp_path):
    judged = evaluator("coherence", initialization_parameters={"deployment_name": "gpt-judge", "threshold": 4})
    found = imported(tmp_path / "out", [judged, evaluator("bleu_score"), evaluator("violence")], RUN)
    outcomes = [(part.outcome, part.to.split(",")[0]) for part in found.parts if "azure_ai" in part.name]
    assert outcomes == [
        ("changed", "a judge gives a score from 1 to 5 by Foundry's published definition"),
        ("changed", "the text metric bleu"),
        ("left out", "it is Foundry's evaluator 'violence'"),
    ]
    laid_out(tmp_path / "in", found.files)
    [case] = read_cases(tmp_path / "in" / "cases.jsonl")
    assert (case.input, case.expected, case.given.value) == ({"query": "Where?"}, "Oslo", "In Oslo.")
    coherence, bleu = (metric.settings for metric in read_suite(tmp_path / "in" / "suite.yaml").metrics)
    assert (coherence["grader"]["model"], coherence["grader"]["pass_threshold"]) == ("gpt-judge", 4)
    assert "judge: openai/gpt-judge" in found.files["suite.yaml"]
    assert (bleu["graded"], bleu["expected"]) == ("response", "ground_truth")


def test_a_deployment_of_foundry_is_the_model_under_test(tmp_path):
    source = {
        "type": "azure_ai_target_completions", "target": {"type": "azure_ai_model", "model": "gpt-small", "sampling_params": {"top_p": 0.5}},
        "source": {"type": "file_content", "content": [{"item": ROW}]},
        "input_messages": {"type": "template", "template": [{"type": "message", "role": "user", "content": {"type": "input_text", "text": "{{item.query}}"}}]},
    }  # fmt: skip
    check = {
        "type": "string_check",
        "name": "c",
        "input": "{{sample.output_text}}",
        "reference": "{{item.ground_truth}}",
        "operation": "ilike",
    }
    found = imported(tmp_path / "out", [check], {**RUN, "data_source": source})
    laid_out(tmp_path / "in", found.files)
    target = read_suite(tmp_path / "in" / "suite.yaml").target
    assert (target.models, dict(target.settings)) == (("azure/gpt-small",), {"top_p": 0.5})
    assert found.dropped == ()


def test_an_eval_without_rows_is_named_and_stops_no_other(tmp_path):
    found = imported(tmp_path, [evaluator("coherence")])
    assert ("no effect", "the files have no rows for it, so there is nothing to ask") in [
        (p.outcome, p.to) for p in found.parts
    ]


VALUES = [
    None,
    0,
    -1,
    3.5,
    "",
    "x",
    "{{item.a}}",
    "{{",
    [],
    [1],
    ["x"],
    {},
    {"a": 1},
    True,
    "../../x",
    [{}],
    [[]],
    1e308,
]


def changed(data, random_):
    """Replace or remove one to three parts anywhere in the data."""
    data = copy.deepcopy(data)
    for _ in range(random_.randint(1, 3)):
        node = data
        while isinstance(node, (dict, list)) and node:
            key = random_.choice([*node] if isinstance(node, dict) else range(len(node)))
            if random_.random() < 0.3 or not isinstance(node[key], (dict, list)):
                node[key] = copy.deepcopy(random_.choice(VALUES))
                break
            node = node[key]
    return data


@pytest.mark.parametrize("seed", range(60))
def test_a_hostile_file_is_an_import_or_one_error(tmp_path, seed):
    random_ = random.Random(seed)  # noqa: S311  not a secret
    lists, _ = world(2)
    tickets = {**TICKETS, "testing_criteria": [*TICKETS["testing_criteria"], evaluator("coherence")]}
    tickets["testing_criteria"] = changed(tickets["testing_criteria"], random_)
    items = lists["evals/eval_tickets/runs/evalrun_1/output_items"]
    data = changed([tickets, SUMS, *lists["evals/eval_tickets/runs"], SUMS_RUN, *items], random_)
    (tmp_path / "a.json").write_text(json.dumps(data))
    with suppress(EvalmarkError):
        import_openai_evals(tmp_path, ImportOptions(code=("all",)))
