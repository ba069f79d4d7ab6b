"""Pairs of sentences and their cosine: the table of docs/reference/rag-metrics.md. Needs the local model; takes a second."""

import argparse

from evalmark.rag import answer_correctness

PAIRS = (
    ("a negation", "The medicine is safe for children.", "The medicine is not safe for children."),
    ("the same in other words", "The medicine is safe for children.", "Children can take the drug without risk."),
    ("roles swapped", "Anna lent Ben the bike.", "Ben lent Anna the bike."),
    ("another amount", "The ticket costs 15 euros.", "The ticket costs 50 euros."),
    ("another year", "The bridge was built in 1894.", "The bridge was built in 1984."),
    ("the same in other words", "A refund takes five working days.", "Refunds are paid within a working week."),
    ("a short and a full answer", "Paris", "The capital of France is Paris."),
    ("nothing in common", "The medicine is safe for children.", "He drove to the stadium."),
)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("| what differs | one | the other | cosine |\n|---|---|---|---|")
    for what, one, other in PAIRS:
        print(f"| {what} | {one} | {other} | {answer_correctness(one, other):.2f} |")


if __name__ == "__main__":
    main()
