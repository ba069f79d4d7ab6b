"""A month of traffic, recorded as the shop's app would have, and what customers thought of it as `labels.csv`.

The answers are those of `traffic.jsonl`; an app would record its own with `@evalmark.record("shop")`.
"""

import csv
import json
from pathlib import Path

import evalmark
from evalmark.recording import flush

TRAFFIC = Path(__file__).with_name("traffic.jsonl")


def main() -> None:
    labels = []
    for number, line in enumerate(TRAFFIC.read_text(encoding="utf-8").splitlines()):
        visit = json.loads(line)
        with evalmark.record("shop", session=f"visit-{number}") as session, session.answer(visit["question"]) as span:
            span.output = visit["answer"]
        labels.append({"id": session.id, "label": visit["label"], "by": visit["by"]})
    flush(timeout=30)
    with Path("labels.csv").open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, ["id", "label", "by"])
        sheet.writeheader()
        sheet.writerows(labels)


if __name__ == "__main__":
    main()
