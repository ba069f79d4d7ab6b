"""What the RAG metrics see of good, wrong and unsupported answers, as the table in the README.

Run: python examples/rag/by_kind.py
"""

from collections import Counter
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


if __name__ == "__main__":
    print(table(list(evaluate(QUESTIONS, scorers=METRICS, store=None).results)))
