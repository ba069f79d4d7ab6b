"""`evalmark rag` and the gate of a suite that holds the interpretation limits, with an embedder small enough to reckon by hand."""

import json
from dataclasses import replace

import pytest

from evalmark.store import open_store

# Two directions: texts about cats, and all others. Within one the cosine is 1, between the two it is 0.
OWN = """
def embed(texts):
    return [[1.0, 0.0] if "cat" in text.lower() else [0.0, 1.0] for text in texts]

def brief(output):
    return len(output.split()) <= 3
"""
ROWS = [
    {
        "id": "good",
        "question": "Do cats purr?",
        "reference_answer": "Cats purr.",
        "answer": "Cats purr. Every cat weighs 3.5 kg or so.",
        "contexts": ["Cats purr when they rest."],
    },
    {
        "id": "made-up",
        "question": "Do cats swim?",
        "reference_answer": "Some cats swim.",
        "answer": "Some cats swim. The Moon is made of cheese.",
        "contexts": ["Cats purr when they rest.", "Some cats swim."],
    },
]


@pytest.fixture
def rag(evalmark, world):
    """Calls the verb; gives what was said and the scores by case and metric."""
    (world / "own.py").write_text(OWN, encoding="utf-8")
    (world / "rows.json").write_text(json.dumps(ROWS), encoding="utf-8")

    def call(*words):
        said = evalmark("rag", "--dataset", "rows.json", "--model", "own:embed", "-o", "out.json", *words)
        path = world / "out.json"
        found = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
        return replace(said, out=" ".join(said.out.split())), {
            (r["case"]["id"], s["name"]): s for r in found for s in r["scores"]
        }

    return call


def test_the_five_metrics_of_every_row(rag):
    said, scores = rag()
    assert said.code == 0, said.text
    assert {key: score["raw"] for key, score in scores.items()} == pytest.approx(
        {
            ("good", "context_relevance"): 1.0,
            ("good", "context_sufficiency"): 1.0,
            ("good", "answer_relevance"): 1.0,
            ("good", "answer_correctness"): 1.0,
            ("good", "answer_hallucination"): 0.0,
            ("made-up", "context_relevance"): 1.0,
            ("made-up", "context_sufficiency"): 1.0,
            ("made-up", "answer_relevance"): 1.0,
            ("made-up", "answer_correctness"): 1.0,
            ("made-up", "answer_hallucination"): 0.5,
        }
    )


def test_a_report_knows_the_closest_context_of_every_sentence_and_how_close_it_is(rag):
    _, scores = rag()
    first, second = scores["made-up", "answer_hallucination"]["detail"]["sentences"]
    assert (first["sentence"], first["context"], first["supported"]) == ("Some cats swim.", 0, True)
    assert (second["sentence"], second["context"], second["supported"]) == ("The Moon is made of cheese.", 0, False)
    assert [first["similarity"], second["similarity"]] == pytest.approx([1, 0])


def test_simple_cuts_sentences_at_every_point(rag):
    _, scores = rag("--splitter", "simple")
    sentences = scores["good", "answer_hallucination"]["detail"]["sentences"]
    assert [s["sentence"] for s in sentences] == ["Cats purr", "Every cat weighs 3", "5 kg or so"]
    assert scores["good", "answer_hallucination"]["raw"] == pytest.approx(1 / 3)


def test_the_limits_of_sufficiency_and_hallucination_are_flags(rag):
    _, scores = rag("--sufficiency", "1", "--hallucination", "-0.5")
    # Nothing reaches a cosine of 1: a little is added to the lengths. Everything reaches -0.5.
    assert scores["good", "context_sufficiency"]["raw"] == 0
    assert scores["made-up", "answer_hallucination"]["raw"] == 0


def test_a_metric_of_ones_own_and_a_built_in_stand_beside_the_five(rag):
    said, scores = rag("--metric", "own:brief", "--metric", "answer_question_relevance")
    assert scores["good", "brief"]["passed"] is False
    assert scores["good", "answer_question_relevance"]["raw"] == pytest.approx(1)
    assert said.code == 1  # a check that fails, fails the run


def test_a_run_over_another_dataset_is_not_taken_up(evalmark, rag, world):
    rag()
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        broken = store.run("last")
        store.amend(store.resume(broken.id))
    (world / "more.json").write_text(json.dumps(ROWS[:1]), encoding="utf-8")
    more = evalmark("rag", "--dataset", "more.json", "--model", "own:embed", "--resume")
    assert (more.code, "starting a new one" in more.err) == (0, True), more.text
    named = evalmark("rag", "--dataset", "more.json", "--model", "own:embed", "--resume", broken.id)
    assert (
        named.code,
        f"run {broken.id} belongs to the suite 'rows' (rows.json), not to the suite 'more'" in named.err,
    ) == (2, True), named.text
    again, _ = rag("--resume", broken.id)
    assert (again.code, f"Resuming {broken.id}" in again.err) == (0, True), again.text


def test_without_the_flag_a_mean_beyond_its_limit_is_only_said(rag):
    said, _ = rag()
    assert said.code == 0
    assert "Means beyond" not in said.out
    said, _ = rag("--hallucination", "1")
    beyond = "Means beyond the usual limits: answer_hallucination 1.000 > 0.3 (sentences without a similar context)."
    assert (said.code, beyond in said.out) == (0, True), said.text


def test_the_measures_are_called_what_they_are_until_labels_validate_them(evalmark, rag, world):
    said, _ = rag()
    assert "These are similarity measures, not verdicts" in said.out
    assert "Not validated on your data: 0 of the 30 labelled outputs that are needed." in said.out
    rows = [{**ROWS[number % 2], "id": f"row-{number}", "question": f"Do cats purr {number}?"} for number in range(32)]
    (world / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    rag()
    with (world / "labels.csv").open("w", encoding="utf-8") as labels:
        labels.write("id,case,label\n")
        labels.writelines(f"last,row-{number},{'down' if number % 2 else 'up'}\n" for number in range(29))
    assert evalmark("note", "--file", "labels.csv").code == 0
    said, _ = rag()
    assert "Not validated on your data: 29 of the 30 labelled outputs that are needed." in said.out
    assert evalmark("note", "last", "--case", "row-29", "--label", "down").code == 0
    said, _ = rag()
    assert "Compared with your 30 labelled outputs" in said.out
    flagged = "answer_hallucination > 0.3: 15 of 15 outputs, 100 % (79.6 \u2013 100.0 %) of the flagged are bad;"
    assert flagged in said.out
    assert "0 of 15 outputs, 0 % (0.0 \u2013 20.4 %) of the others." in said.out


def test_two_names_of_one_number_stand_in_one_row_and_json_keeps_both(rag):
    said, scores = rag()
    assert "answer_relevance = answer_correctness" in said.out
    assert {name for _, name in scores} >= {"answer_relevance", "answer_correctness"}


def test_the_answer_with_the_sentence_furthest_from_its_contexts_comes_first(rag):
    said, _ = rag()
    assert said.out.index("· made-up") < said.out.index("· good") if "· good" in said.out else "· made-up" in said.out
    assert "not in contexts “The Moon is made of cheese.”" in said.out


def test_rows_that_cannot_be_judged_can_be_allowed(rag, world):
    rows = [*ROWS, {"id": "bare", "question": "Do cats fly?", "reference_answer": "No cat flies.", "answer": "No cat."}]
    (world / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    assert rag()[0].code == 3
    assert rag("--max-unscored", "1")[0].code == 0
    assert rag("--max-unscored", "0", "--max-errors", "1")[0].code == 3


def test_with_the_flag_a_mean_beyond_its_limit_fails(rag):
    assert rag("--fail-on-flags")[0].code == 0
    said, _ = rag("--fail-on-flags", "--hallucination", "1")
    assert said.code == 1
    assert "answer_hallucination is 1" in said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(("--sufficiency", "1.1"), "--sufficiency", id="a cosine above 1"),
        pytest.param(("--hallucination", "-2"), "--hallucination", id="a cosine below -1"),
        pytest.param(("--splitter", "words"), "splitter 'words' is unknown", id="an unknown splitter"),
        pytest.param(("--metric", "own:gone"), "gone", id="a metric that is not there"),
        pytest.param(("--metric", "equals", "--metric", "equals"), "two scorers are called", id="a metric twice"),
    ],
)
def test_a_flag_that_cannot_be_right_is_refused(rag, words, says):
    said, scores = rag(*words)
    assert (said.code, scores) == (2, {})
    assert says in said.err


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        pytest.param({}, 0, id="no gate: nothing can fail"),
        pytest.param({"flags": True}, 1, id="the limits are the gate"),
        pytest.param({"flags": False}, 0, id="the limits are switched off"),
        pytest.param(
            {"flags": True, "thresholds": {"answer_hallucination": 0.6}}, 0, id="a threshold wins over its limit"
        ),
    ],
)
def test_a_suite_can_make_the_limits_its_gate(evalmark, rag, world, gate, code):
    hallucination = {"answer_hallucination": {"hallucination": 0.9}}
    suite = {"datasets": ["rows.json"], "metrics": ["context_relevance", hallucination], "embeddings": "own:embed"}
    rows = [dict(ROWS[1], id=str(number)) for number in range(3)]  # each with one unsupported sentence of two
    (world / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    (world / "suite.json").write_text(json.dumps(suite | ({"gate": gate} if gate else {})), encoding="utf-8")
    said = evalmark("run", "suite.json")
    assert said.code == code, said.text
    text = " ".join(said.out.split())  # wherever the terminal is too narrow
    assert ("answer_hallucination is 0.5 over 3 scores, more than 0.3" in text) == (code == 1)


def test_a_gpu_that_is_not_there_ends_the_command_before_anything_is_embedded(evalmark, world):
    (world / "rows.json").write_text(json.dumps(ROWS), encoding="utf-8")
    # Mode int8 has no GPU on any machine.
    refused = evalmark("rag", "--dataset", "rows.json", "--device", "gpu", "--mode", "int8")
    assert (refused.code, "--device gpu: mode int8 runs on the processor only" in refused.err) == (2, True)
    unknown = evalmark("rag", "--dataset", "rows.json", "--device", "tpu")
    assert (unknown.code, "device: 'tpu' is not one of cpu, gpu" in unknown.err) == (2, True)


def test_unknown_columns_are_reported_before_a_model_is_looked_for(evalmark, world):
    (world / "rows.csv").write_text("Frage,Antwort\nWhy?,So.\n", encoding="utf-8")
    said = evalmark("rag", "--dataset", "rows.csv", "--model", "no-such-model")
    assert (said.code, "rows.csv:1: no input among Frage, Antwort" in said.err) == (2, True)
