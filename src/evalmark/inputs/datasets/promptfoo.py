"""Translate promptfoo's columns, such as `__expected` and `__metadata:key`."""

import re
from collections.abc import Callable, Sequence
from typing import Any

_ASSERTION = re.compile(r"(not-)?([a-z][a-z\-]*)(?:\((-?[0-9.]+)\))?:\s*(.*)", re.DOTALL)
_TEXT_OF = {"equals": "equals", "similar": "similarity", "contains": "contains", "icontains": "contains"}
"""Assertions whose text can be the expected answer, and the scorer that compares with it."""
_KNOWN = frozenset((
    *_TEXT_OF, "regex", "starts-with", "contains-any", "contains-all", "icontains-any", "icontains-all", "is-json",
    "contains-json", "javascript", "fn", "eval", "python", "file", "webhook", "llm-rubric", "grade", "factuality",
    "model-graded-closedqa", "answer-relevance", "context-recall", "context-relevance", "context-faithfulness",
    "levenshtein", "rouge-n", "bleu", "meteor", "latency", "cost", "perplexity", "moderation", "g-eval", "select-best",
))  # fmt: skip
_INPUTS = ("input", "inputs")


class PromptfooColumns:
    """Converts rows with promptfoo's columns to rows with the usual fields."""

    def __init__(self, header: Sequence[str], notes: Callable[[str], None]) -> None:
        self._notes = notes
        self._noted: set[str] = set()
        plain = [name for name in header if not name.startswith("__")]
        has_input = any(name.casefold() in _INPUTS for name in plain)
        self._variables = () if has_input else tuple(name for name in plain if name.casefold() != "id")
        if len(self._variables) > 1:
            self._note("variables", f"the columns {', '.join(self._variables)} are the variables of each input.")

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Convert a row.

        Raises:
            ValueError: the row uses a feature that is not supported for single rows.
        """
        result: dict[str, Any] = {"metadata": {}}
        for name, cell in row.items():
            if name.startswith("__"):
                if cell is not None:
                    self._special(result, name, cell)
            elif name not in self._variables:
                result[name] = cell
        if self._variables:
            result["input"] = self._input(row)
        return result

    def _input(self, row: dict[str, Any]) -> Any:
        if len(self._variables) == 1:
            return row[self._variables[0]]
        return {name: row[name] or "" for name in self._variables}

    def _special(self, result: dict[str, Any], name: str, cell: str) -> None:
        kind, _, key = name.partition(":")
        if kind in ("__expected", "__expected1"):
            result["expected"] = self._expected(cell)
        elif kind == "__metadata" and key:
            many = key.endswith("[]")
            result["metadata"][key.removesuffix("[]")] = [part.strip() for part in cell.split(",")] if many else cell
        elif kind == "__providerOutput":
            result["answer"] = cell
        elif kind == "__threshold":
            raise ValueError("`__threshold` is set for this row; set thresholds in the suite, one for each metric")
        elif re.fullmatch(r"__expected[0-9]+", kind):
            raise ValueError(f"`{kind}` is a second assertion for this row; name further scorers in the suite instead")
        else:
            self._note(kind, f"the column {name} is kept in the metadata; nothing else is done with it.")
            result["metadata"][name] = cell

    def _expected(self, cell: str) -> str:
        """Return the expected answer of a cell: a plain text, or the text of an assertion that compares with one."""
        match = _ASSERTION.fullmatch(cell)
        if match is None or match[2] not in _KNOWN:
            return cell
        negated, kind, threshold, text = match.groups()
        if negated or kind not in _TEXT_OF:
            raise ValueError(
                f"`__expected` holds the assertion {(negated or '') + kind!r}, which is not supported for single rows; "
                "write the expected answer there, and name a scorer in the suite"
            )
        least = f" with the threshold {threshold}" if threshold else ""
        if kind != "equals":
            self._note(
                kind + least,
                f"the text after `{kind}:` in __expected is read as the expected answer; "
                f"to judge by it, name the scorer {_TEXT_OF[kind]}{least} in the suite.",
            )
        return text

    def _note(self, key: str, sentence: str) -> None:
        if key not in self._noted:
            self._noted.add(key)
            self._notes(sentence)
