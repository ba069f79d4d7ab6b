"""What the RAG metrics see of good, wrong and unsupported answers, as the table in the README.

Run: python examples/rag/by_kind.py
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from evalmark import Result, evaluate

QUESTIONS = Path(__file__).parent / "questions.json"
METRICS = (
    "context_relevance",
    "context_sufficiency",
    "answer_correctness",
    "answer_question_relevance",
    "answer_hallucination",
)
FIVE = ("context_relevance", "context_sufficiency", "answer_relevance", "answer_correctness", "answer_hallucination")
KINDS = ("good", "wrong", "unsupported")


def kind(result: Result) -> str:
    """What the row says its answer is; good answers over the wrong contexts are a kind of their own."""
    tags = result.trial.case.tags
    return "good, off-topic contexts" if "off-topic-context" in tags else next(tag for tag in tags if tag in KINDS)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def means(results: list[Result]) -> list[str]:
    """One mean a metric over the rows it could score."""
    scores = [{score.name: score.value for score in result.scores} for result in results]
    return [f"{mean([row[name] for row in scores if row[name] is not None]):.2f}" for name in METRICS]


def sentences(results: list[Result]) -> Counter[tuple[bool, bool]]:
    """How many sentences of (made up or not, flagged or not) there are."""
    found: Counter[tuple[bool, bool]] = Counter()
    for result in results:
        made_up = result.trial.case.metadata.get("unsupported_sentences", [])
        detail = next(score.detail for score in result.scores if score.name == "answer_hallucination")
        for row in detail["sentences"]:
            found[row["sentence"].strip() in made_up, not row["supported"]] += 1
    return found


def table(results: list[Result]) -> str:
    """The figures as Markdown."""
    groups = {name: [r for r in results if kind(r) == name] for name in sorted({kind(r) for r in results})}
    lines = [
        f"| answers | n | {' | '.join(name.replace('_', ' ') for name in METRICS)} |",
        f"|---|{'---|' * (len(METRICS) + 1)}",
        *(f"| {name} | {len(rows)} | {' | '.join(means(rows))} |" for name, rows in groups.items()),
    ]
    seen = sentences(results)
    made_up, others = seen[True, True] + seen[True, False], seen[False, True] + seen[False, False]
    lines += [
        "",
        f"Of {made_up} made-up sentences {seen[True, True]} are flagged; of {others} others {seen[False, True]} are.",
    ]
    return "\n".join(lines)


def overall(result: Result) -> float:
    """The mean of the five metrics, each the higher the better."""
    return mean([s.value if s.direction == "higher" else 1 - s.value for s in result.scores if s.value is not None])


def least_support(result: Result) -> float:
    """The cosine of the sentence that is furthest from every context."""
    (score,) = (score for score in result.scores if score.name == "answer_hallucination")
    return min(row["similarity"] for row in score.detail["sentences"])


def precision(results: list[Result], order: Callable[[Result], float], first: int) -> str:
    """How many of the first few results in an order are wrong or unsupported."""
    bad = [not kind(result).startswith("good") for result in sorted(results, key=order)[:first]]
    return f"{sum(bad)} of {first}"


def orders(results: list[Result]) -> str:
    """How many bad answers stand among the first worst cases, by two orders."""
    rows = (("the mean of the five metrics", overall), ("the sentence furthest from every context", least_support))
    return "\n".join(
        [
            "| worst cases ordered by | bad answers of the first 5 | of the first 10 | of the first 20 |",
            "|---|---|---|---|",
            *(f"| {name} | {' | '.join(precision(results, order, n) for n in (5, 10, 20))} |" for name, order in rows),
        ]
    )


if __name__ == "__main__":
    print(table(list(evaluate(QUESTIONS, scorers=METRICS, store=None).results)))
    print()
    print(orders(list(evaluate(QUESTIONS, scorers=FIVE, store=None).results)))
