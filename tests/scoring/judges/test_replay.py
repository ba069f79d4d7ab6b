"""What was asked once is not asked again, and the scores are the same to the letter."""

import math
from dataclasses import replace
from pathlib import Path

from evalmark import Case, evaluate
from evalmark.core.values.call import Reply, Token
from evalmark.judges import Rubric
from evalmark.testing.chat import ScriptedModel

from .asking import BUILT_IN, FIVE, WORST, metric


def test_a_run_made_twice_asks_once_with_repairs_repeats_and_weights(world: Path):
    tokens = (
        Token('{"reason": "mine", "score": ', -0.1),
        Token("4", math.log(0.6), (("4", math.log(0.6)), ("5", math.log(0.4)))),
        Token("}", 0.0),
    )
    unsteady = iter(range(10_000))

    def says(request):
        number = next(unsteady)
        if request.logprobs:
            return Reply(text="".join(token.text for token in tokens), tokens=tokens)
        if number % 3 == 0 and len(request.messages) == 2:
            return "no object"
        keys = set(request.schema["properties"])
        fitting = next(said for said in WORST.values() if set(said) == keys)
        if "score" in fitting:
            return {"reason": f"{number}", "score": 1 + number % 5}
        enum = request.schema["properties"].get("answer", {}).get("enum")
        return fitting if enum is None else {"reason": f"{number}", "answer": enum[number % len(enum)]}

    metrics = [
        metric(FIVE),
        metric(FIVE, weighted=True, repeat=2),
        metric(FIVE, needs_example_output=True, repeat=3),
    ]
    rubrics = [Rubric(metric=replace(one, name=f"tone {number}")) for number, one in enumerate(metrics)]
    scorers = [scorer for scorer in BUILT_IN.values() if not isinstance(scorer, Rubric)] + rubrics
    cases = [Case(id=f"{n}", input=f"question {n}", expected="Oslo", contexts=("Oslo.",)) for n in range(4)]
    runs = []
    for _ in range(2):
        model = ScriptedModel(says)
        run = evaluate(cases, lambda question: f"answer to {question}", scorers, judge=model, store=world / "s.db")
        runs.append(({r.trial.case.id: r.scores for r in run.results}, len(model.requests)))
    (first, asked), (second, again) = runs
    assert (asked > 40, again) == (True, 0)
    assert first == second
    assert any(score.detail.get("flipped") for scores in first.values() for score in scores)
    assert any(score.detail.get("repaired") for scores in first.values() for score in scores)
    assert any(score.detail.get("weighting") == "logprobs" for scores in first.values() for score in scores)
