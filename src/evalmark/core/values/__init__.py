"""The data model: immutable dataclasses for cases, outputs, scores, results and runs."""
