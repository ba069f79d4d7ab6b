"""Replies of judges with what is in them: a verdict, or the kind of fault that keeps them from having one."""

from typing import Any, NamedTuple

from evalmark.core.values.call import Reply
from evalmark.scoring.judges.measure import Measure, Option

FIVE = Measure(kind="scale", description="how good", low=1, high=5)
TEN = Measure(kind="scale", description="how good", low=0, high=10)
BELOW = Measure(kind="scale", description="how warm", low=-2, high=2)
SHARE = Measure(kind="percentage", description="how much of it")
TRUTH = Measure(kind="boolean", description="whether it holds")
PICK = Measure(
    kind="choice",
    description="which one",
    options={"A": Option(0.4), "B": Option(0.6), "C": Option(1.0), "D": Option(0.0), "E": Option(1.0)},
)
WORDS = Measure(kind="boolean", description="whether it holds", words=("OK", "ERR"))


class Said(NamedTuple):
    """One reply, and what is in it."""

    what: str
    """The sentence that names the row."""
    reply: Reply
    measure: Measure
    verdict: Any = None
    """What has to be read; None where nothing may be."""
    fault: str = ""


def text(what: str, said: str, measure: Measure, verdict: Any = None, fault: str = "", status: Any = "ok") -> Said:
    """A reply in the words of the judge."""
    return Said(what, Reply(text=said, status=status, form="text"), measure, verdict, fault)


def data(what: str, said: Any, measure: Measure, verdict: Any = None, fault: str = "", form: Any = "schema") -> Said:
    """A reply that the endpoint gave as data."""
    return Said(what, Reply(data=said, form=form), measure, verdict, fault)


PARSE, RANGE, REFUSED = "judge_parse", "judge_range", "judge_refused"
INCONSISTENT, TRUNCATED = "judge_inconsistent", "judge_truncated"

GOOD = [
    text("an object alone", '{"reason": "short", "score": 4}', FIVE, 4),
    text("the least number", '{"reason": "bad", "score": 1}', FIVE, 1),
    text("the greatest number", '{"reason": "good", "score": 5}', FIVE, 5),
    text("zero on a scale from zero", '{"reason": "none", "score": 0}', TEN, 0),
    text("a number of two digits", '{"reason": "all", "score": 10}', TEN, 10),
    text("a number below zero", '{"reason": "cold", "score": -2}', BELOW, -2),
    text("the verdict first", '{"score": 4, "reason": "short"}', FIVE, 4),
    text("no reason", '{"score": 4}', FIVE, 4),
    text("a reason that is null", '{"reason": null, "score": 4}', FIVE, 4),
    text("a blank reason", '{"reason": "", "score": 4}', FIVE, 4),
    text("on several lines", '{\n  "reason": "short",\n  "score": 3\n}\n', FIVE, 3),
    text("in a block named json", '```json\n{"reason": "short", "score": 3}\n```', FIVE, 3),
    text("in a block named JSON", '```JSON\n{"reason": "short", "score": 3}\n```', FIVE, 3),
    text("in a block without a name", '```\n{"reason": "short", "score": 3}\n```', FIVE, 3),
    text("in a block on one line", '```json {"reason": "short", "score": 3} ```', FIVE, 3),
    text("prose before it", 'The answer is fine.\n\n{"reason": "fine", "score": 4}', FIVE, 4),
    text("prose before a block", 'It is fine.\n```json\n{"reason": "fine", "score": 4}\n```\n', FIVE, 4),
    text("prose with another number", 'I would say 2 of 5, no: 4.\n{"reason": "fine", "score": 4}', FIVE, 4),
    text("prose with a grade", 'GRADE: C is tempting.\n{"reason": "same facts", "answer": "E"}', PICK, "E"),
    text("prose with paired braces", 'With \\frac{1}{2} it is {wrong}.\n{"reason": "half", "score": 2}', FIVE, 2),
    text("prose with an object of another kind", 'It said {"city": "Oslo"}.\n{"reason": "right", "score": 5}', FIVE, 5),
    text("prose that ends in a comma", 'All in all,\n{"reason": "fine", "score": 4}', FIVE, 4),
    text("prose that ends in a quote", 'The output is "fine"\n\n{"reason": "fine", "score": 4}', FIVE, 4),
    text("prose with half an interval", 'On [0, 5) it is high.\n{"reason": "high", "score": 4}', FIVE, 4),
    text("the same object twice", '{"reason": "a", "score": 4}\n{"reason": "a", "score": 4}', FIVE, 4),
    text("names beyond those asked for", '{"reason": "a", "score": 4, "confidence": 0.9, "notes": []}', FIVE, 4),
    text("a bundled score of another system", '{"explanation": "Met all", "score": 100}', SHARE, 100.0),
    text("braces inside the reason", '{"reason": "it says {score: 1}", "score": 4}', FIVE, 4),
    text("an object inside the reason", '{"reason": "it says {\\"score\\": 1}", "score": 4}', FIVE, 4),
    text("a block inside the reason", '{"reason": "```json {} ```", "score": 4}', FIVE, 4),
    text("a refusal phrase inside the reason", '{"reason": "I cannot fault it.", "score": 5}', FIVE, 5),
    text("a refusal phrase in the prose", 'I cannot find a fault.\n{"reason": "none", "score": 5}', FIVE, 5),
    text("other scripts", '{"reason": "正解 ✓ Größe", "score": 5}', FIVE, 5),
    text("half a surrogate pair", '{"reason": "\\ud800", "score": 2}', FIVE, 2),
    text("blanks around it", '  \n\t{"reason": "a", "score": 2}\n\n ', FIVE, 2),
    text("a nested object beside the verdict", '{"reason": "a", "detail": {"score": 1}, "score": 2}', FIVE, 2),
    text("a percentage with a fraction", '{"reason": "most", "score": 87.5}', SHARE, 87.5),
    text("a percentage below one", '{"reason": "little", "score": 0.8}', SHARE, 0.8),
    text("the least percentage", '{"reason": "none", "score": 0}', SHARE, 0.0),
    text("the greatest percentage", '{"reason": "all", "score": 100.0}', SHARE, 100.0),
    text("a percentage with an exponent", '{"reason": "much", "score": 5e1}', SHARE, 50.0),
    text("minus zero percent", '{"reason": "none", "score": -0.0}', SHARE, 0.0),
    text("true", '{"reason": "holds", "pass": true}', TRUTH, True),
    text("false", '{"reason": "does not", "pass": false}', TRUTH, False),
    text("true, said twice", '{"reason": "holds", "pass": true, "passed": true}', TRUTH, True),
    text("true with a score", '{"reason": "holds", "pass": true, "score": 0.8}', TRUTH, True),
    text("false with a score of nothing", '{"reason": "no", "pass": false, "score": 0}', TRUTH, False),
    text("a choice", '{"reason": "same", "answer": "C"}', PICK, "C"),
    text("the worst choice", '{"reason": "contradicts", "answer": "D"}', PICK, "D"),
    text("the worst choice, said to fail", '{"reason": "no", "answer": "D", "pass": false}', PICK, "D"),
    text("a middling choice, said to pass", '{"reason": "part", "answer": "A", "pass": true}', PICK, "A"),
    text("a middling number, said to fail", '{"reason": "part", "score": 3, "pass": false}', FIVE, 3),
    text("the greatest number, said to pass", '{"reason": "all", "score": 5, "pass": true}', FIVE, 5),
    text("the least number, said to fail", '{"reason": "none", "score": 1, "passed": false}', FIVE, 1),
    text("a `pass` that is no truth value", '{"reason": "none", "score": 1, "pass": "yes"}', FIVE, 1),
    data("an object from a schema", {"reason": "a", "score": 4}, FIVE, 4),
    data("an object from a tool call", {"reason": "a", "score": 4}, FIVE, 4, form="tool"),
    data("a choice from a schema", {"reason": "a", "answer": "B"}, PICK, "B"),
    data("false from a schema", {"reason": "a", "pass": False}, TRUTH, False),
    data("a whole percentage from a schema", {"reason": "a", "score": 70}, SHARE, 70.0),
    data("everything at once", {"answer": "C", "score": 0.8, "pass": True, "value": 1, "reason": "ok"}, PICK, "C"),
    data("everything at once, as a share", {"answer": "C", "score": 0.8, "pass": True, "reason": "ok"}, SHARE, 0.8),
    data("everything at once, as a truth", {"answer": "C", "score": 0.8, "pass": True, "reason": "ok"}, TRUTH, True),
    Said(
        "an object beside prose before a tool call",
        Reply(text="I will now judge.", data={"reason": "a", "score": 2}, form="tool"),
        FIVE,
        2,
    ),
    text("a word on the last line", "There is no fault.\nOK", WORDS, True),
    text("the other word on the last line", "There is a comma too many.\n\nERR\n", WORDS, False),
    text("a word alone", "OK", WORDS, True),
    text("a word after a full stop", "This breaks the rule. ERR", WORDS, False),
    text("a word after a line of the same word", "OK\n\nAll rules hold.\nOK", WORDS, True),
    text("a word in the prose", "It may look OK at first, but is not.\nERR", WORDS, False),
]

NO_NUMBER = [
    text("one above the scale", '{"reason": "a", "score": 6}', FIVE, fault=RANGE),
    text("one below the scale", '{"reason": "a", "score": 0}', FIVE, fault=RANGE),
    text("far above the scale", '{"reason": "a", "score": 100}', FIVE, fault=RANGE),
    text("below zero", '{"reason": "a", "score": -3}', FIVE, fault=RANGE),
    text("between two numbers", '{"reason": "a", "score": 3.5}', FIVE, fault=RANGE),
    text("a whole number with a fraction", '{"reason": "a", "score": 4.0}', FIVE, fault=RANGE),
    text("a number with an exponent", '{"reason": "a", "score": 4e0}', FIVE, fault=RANGE),
    text("a share for a scale", '{"reason": "a", "score": 0.8}', FIVE, fault=RANGE),
    text("NaN", '{"reason": "a", "score": NaN}', FIVE, fault=RANGE),
    text("Infinity", '{"reason": "a", "score": Infinity}', FIVE, fault=RANGE),
    text("minus Infinity", '{"reason": "a", "score": -Infinity}', SHARE, fault=RANGE),
    text("1e999", '{"reason": "a", "score": 1e999}', SHARE, fault=RANGE),
    text("minus 1e999", '{"reason": "a", "score": -1e999}', SHARE, fault=RANGE),
    text("a number of 5,000 digits", '{"reason": "a", "score": 1' + "0" * 5_000 + "}", FIVE, fault=RANGE),
    text("a number of 400 digits", '{"reason": "a", "score": 1' + "0" * 400 + "}", FIVE, fault=RANGE),
    text("101 percent", '{"reason": "a", "score": 101}', SHARE, fault=RANGE),
    text("a hair above 100 percent", '{"reason": "a", "score": 100.0001}', SHARE, fault=RANGE),
    text("minus one percent", '{"reason": "a", "score": -1}', SHARE, fault=RANGE),
    text("seven of ten as text", '{"reason": "a", "score": "7/10"}', TEN, fault=PARSE),
    text("a share as text", '{"reason": "a", "score": "0.7"}', SHARE, fault=PARSE),
    text("a number as text", '{"reason": "a", "score": "4"}', FIVE, fault=PARSE),
    text("a percentage as text", '{"reason": "a", "score": "70%"}', SHARE, fault=PARSE),
    text("a number in words", '{"reason": "a", "score": "four"}', FIVE, fault=PARSE),
    text("true for a number", '{"reason": "a", "score": true}', FIVE, fault=PARSE),
    text("false for a percentage", '{"reason": "a", "score": false}', SHARE, fault=PARSE),
    text("null for a number", '{"reason": "a", "score": null}', FIVE, fault=PARSE),
    text("an empty text for a number", '{"reason": "a", "score": ""}', FIVE, fault=PARSE),
    text("a list for a number", '{"reason": "a", "score": [4]}', FIVE, fault=PARSE),
    text("an object for a number", '{"reason": "a", "score": {"value": 4}}', FIVE, fault=PARSE),
    text("seven of ten without quotes", '{"reason": "a", "score": 7/10}', TEN, fault=PARSE),
    text("a number with a leading zero", '{"reason": "a", "score": 04}', FIVE, fault=PARSE),
    text("a number with a plus", '{"reason": "a", "score": +4}', FIVE, fault=PARSE),
    text("a number with a comma", '{"reason": "a", "score": 87,5}', SHARE, fault=PARSE),
    data("NaN from a schema", {"reason": "a", "score": float("nan")}, SHARE, fault=RANGE),
    data("infinity from a schema", {"reason": "a", "score": float("inf")}, SHARE, fault=RANGE),
    data("a float for a scale from a schema", {"reason": "a", "score": 4.0}, FIVE, fault=RANGE),
    data("out of range from a tool call", {"reason": "a", "score": 11}, TEN, fault=RANGE, form="tool"),
]

NO_CHOICE = [
    text("a truth value as text", '{"reason": "a", "pass": "true"}', TRUTH, fault=PARSE),
    text("yes for a truth value", '{"reason": "a", "pass": "yes"}', TRUTH, fault=PARSE),
    text("one for a truth value", '{"reason": "a", "pass": 1}', TRUTH, fault=PARSE),
    text("null for a truth value", '{"reason": "a", "pass": null}', TRUTH, fault=PARSE),
    text("True as Python writes it", '{"reason": "a", "pass": True}', TRUTH, fault=PARSE),
    text("a choice that is none", '{"reason": "a", "answer": "F"}', PICK, fault=PARSE),
    text("a choice in small letters", '{"reason": "a", "answer": "c"}', PICK, fault=PARSE),
    text("a choice in brackets", '{"reason": "a", "answer": "(C)"}', PICK, fault=PARSE),
    text("a choice with a full stop", '{"reason": "a", "answer": "C."}', PICK, fault=PARSE),
    text("two choices", '{"reason": "a", "answer": "A, C"}', PICK, fault=PARSE),
    text("a list of choices", '{"reason": "a", "answer": ["C"]}', PICK, fault=PARSE),
    text("a choice by its number", '{"reason": "a", "answer": 3}', PICK, fault=PARSE),
    text("null for a choice", '{"reason": "a", "answer": null}', PICK, fault=PARSE),
    data("an object for a choice", {"reason": "a", "answer": {"C": 1}}, PICK, fault=PARSE),
]

NO_OBJECT = [
    text("no JSON at all", "I would give it a 4.", FIVE, fault=PARSE),
    text("a bare number", "4", FIVE, fault=PARSE),
    text("a bare letter", "C", PICK, fault=PARSE),
    text("a bare truth value", "true", TRUTH, fault=PARSE),
    text("a list", '[{"reason": "a", "score": 4}]', FIVE, fault=PARSE),
    text("a text in quotes", '"{\\"reason\\": \\"a\\", \\"score\\": 4}"', FIVE, fault=PARSE),
    text("a name and a number", "score: 4", FIVE, fault=PARSE),
    text("YAML", "reason: a\nscore: 4", FIVE, fault=PARSE),
    text("XML", "<score>4</score>", FIVE, fault=PARSE),
    text("single quotes", "{'reason': 'a', 'score': 4}", FIVE, fault=PARSE),
    text("names without quotes", "{reason: 'a', score: 4}", FIVE, fault=PARSE),
    text("typographic quotes", "{\u201creason\u201d: \u201ca\u201d, \u201cscore\u201d: 4}", FIVE, fault=PARSE),
    text("a comma before the end", '{"reason": "a", "score": 4,}', FIVE, fault=PARSE),
    text("a comment", '{"reason": "a", "score": 4 /* fine */}', FIVE, fault=PARSE),
    text("a line break inside a text", '{"reason": "a\nb", "score": 4}', FIVE, fault=PARSE),
    text("no closing brace", '{"reason": "a", "score": 4', FIVE, fault=PARSE),
    text("cut in the middle of the reason", '{"reason": "it is', FIVE, fault=PARSE),
    text("no opening brace", '"reason": "a", "score": 4}', FIVE, fault=PARSE),
    text("one closing brace too many", '{"reason": "a", "score": 4}}', FIVE, fault=PARSE),
    text("one inside a broken one", '{"verdict": {"reason": "a", "score": 4}', FIVE, fault=PARSE),
    text("one inside a broken one with a comma", '{"x": 1, "v": {"score": 4},}', FIVE, fault=PARSE),
    text("one inside a list that is not closed", '[{"reason": "a", "score": 4}', FIVE, fault=PARSE),
    text("the second of a list that is not closed", '[{"a": 1}, {"reason": "a", "score": 4}', FIVE, fault=PARSE),
    text("many that are broken", '{"a":' * 900 + "!" + '{"a":' * 900 + '!{"score": 4}', FIVE, fault=PARSE),
    text("one inside one that is whole", '{"verdict": {"reason": "a", "score": 4}}', FIVE, fault=PARSE),
    text("prose after it", '{"reason": "a", "score": 4}\nI hope this helps!', FIVE, fault=PARSE),
    text("prose after a block", '```json\n{"reason": "a", "score": 4}\n```\nDone.', FIVE, fault=PARSE),
    text("a block that is not closed", '```json\n{"reason": "a", "score": 4}', FIVE, fault=PARSE),
    text("a block that is not opened", '{"reason": "a", "score": 4}\n```', FIVE, fault=PARSE),
    text("a block of another language", '```python\n{"reason": "a", "score": 4}\n```', FIVE, fault=PARSE),
    text("a final number after it", '{"reason": "a", "score": 4}\nFinal score: 2', FIVE, fault=PARSE),
    text("an empty object", "{}", FIVE, fault=PARSE),
    text("no verdict", '{"reason": "a"}', FIVE, fault=PARSE),
    text("the verdict under another name", '{"reason": "a", "rating": 4}', FIVE, fault=PARSE),
    text("the verdict under its name in capitals", '{"reason": "a", "Score": 4}', FIVE, fault=PARSE),
    text("a truth value under another name", '{"reason": "a", "passed": true}', TRUTH, fault=PARSE),
    text("a choice under another name", '{"reason": "a", "choice": "C"}', PICK, fault=PARSE),
    text("a reason that is a number", '{"reason": 4, "score": 4}', FIVE, fault=PARSE),
    text("a reason that is a list", '{"reason": ["a"], "score": 4}', FIVE, fault=PARSE),
    text("a name twice", '{"reason": "a", "score": 2, "score": 4}', FIVE, fault=PARSE),
    text("a name twice with one value", '{"reason": "a", "score": 4, "score": 4}', FIVE, fault=PARSE),
    text("nested too deep", '{"reason": "a", "x": ' + "[" * 200 + "]" * 200 + ', "score": 4}', FIVE, fault=PARSE),
    text("a hundred thousand brackets", "[" * 100_000, FIVE, fault=PARSE),
    text("twenty thousand open objects", '{"a":' * 20_000, FIVE, fault=PARSE),
    text("longer than anybody reads", "x" * 200_001 + '{"score": 4}', FIVE, fault=PARSE),
    text("an empty reply", "", FIVE, fault=PARSE, status="empty"),
    text("a blank reply", " \n ", FIVE, fault=PARSE),
    text("the verdict before an object without one", '{"score": 4}\n{"note": "done"}', FIVE, fault=PARSE),
    data("a list from a schema", [4], FIVE, fault=PARSE),
    data("a number from a schema", 4, FIVE, fault=PARSE),
    data("an empty object from a schema", {}, FIVE, fault=PARSE),
    text("neither word", "It is fine.", WORDS, fault=PARSE),
    text("a word in other letters", "It is fine.\nOk", WORDS, fault=PARSE),
    text("a word with a full stop", "It is fine.\nOK.", WORDS, fault=PARSE),
    text("a word that is denied", "This is not OK", WORDS, fault=PARSE),
    text("a word before the end", "OK\nThat was easy.", WORDS, fault=PARSE),
    text("a word inside a longer one", "The answer is BROKEN. LOOK", WORDS, fault=PARSE),
    text("no word at all", "", WORDS, fault=PARSE),
]

NO_VERDICT = [
    text("refused, says the endpoint", "", FIVE, fault=REFUSED, status="refused"),
    text("refused with an object", '{"reason": "a", "score": 4}', FIVE, fault=REFUSED, status="refused"),
    text("filtered, says the endpoint", "", FIVE, fault=REFUSED, status="filtered"),
    text("an apology", "I'm sorry, but I can't help with that.", FIVE, fault=REFUSED),
    text("an apology with a curved apostrophe", "I\u2019m sorry, but I can\u2019t do that.", FIVE, fault=REFUSED),
    text("cannot", "I cannot evaluate this content.", TRUTH, fault=REFUSED),
    text("unable", "I am unable to judge this.", PICK, fault=REFUSED),
    text("an AI", "As an AI, I do not rate people.", SHARE, fault=REFUSED),
    text("a language model", "As a large language model I have no opinions.", SHARE, fault=REFUSED),
    text("unfortunately", "Unfortunately, I cannot comply.", FIVE, fault=REFUSED),
    text("declines", "I must decline to rate this.", FIVE, fault=REFUSED),
    text("a refusal in place of a word", "I'm sorry, I can't judge that.", WORDS, fault=REFUSED),
    text("cut off", '{"reason": "it is', FIVE, fault=TRUNCATED, status="truncated"),
    text("cut off behind the object", '{"reason": "a", "score": 4}', FIVE, fault=TRUNCATED, status="truncated"),
    text("cut off behind a word", "It is fine.\nOK", WORDS, fault=TRUNCATED, status="truncated"),
    text("passed with the least number", '{"reason": "a", "score": 1, "pass": true}', FIVE, fault=INCONSISTENT),
    text("failed with the greatest number", '{"reason": "a", "score": 5, "pass": false}', FIVE, fault=INCONSISTENT),
    text("passed with nothing of it", '{"reason": "a", "score": 0, "passed": true}', SHARE, fault=INCONSISTENT),
    text("failed with all of it", '{"reason": "a", "score": 100, "passed": false}', SHARE, fault=INCONSISTENT),
    text("passed with a contradiction", '{"reason": "a", "answer": "D", "pass": true}', PICK, fault=INCONSISTENT),
    text("failed with the same facts", '{"reason": "a", "answer": "C", "pass": false}', PICK, fault=INCONSISTENT),
    text("true and not passed", '{"reason": "a", "pass": true, "passed": false}', TRUTH, fault=INCONSISTENT),
    text("false and passed", '{"reason": "a", "pass": false, "passed": true}', TRUTH, fault=INCONSISTENT),
    text("true with a score of nothing", '{"reason": "a", "pass": true, "score": 0}', TRUTH, fault=INCONSISTENT),
    text("two verdicts", '{"reason": "a", "score": 2}\n{"reason": "b", "score": 4}', FIVE, fault=INCONSISTENT),
    text(
        "two reasons for one verdict",
        '{"reason": "a", "score": 4} {"reason": "b", "score": 4}',
        FIVE,
        fault=INCONSISTENT,
    ),
    text("a draft and a verdict", 'Draft: {"score": 2}\nFinal: {"reason": "b", "score": 4}', FIVE, fault=INCONSISTENT),
    text("both words", "OK\nNo, wait.\nERR", WORDS, fault=INCONSISTENT),
    data("passed with the least number, by schema", {"score": 1, "pass": True}, FIVE, fault=INCONSISTENT),
]

CORPUS = [*GOOD, *NO_NUMBER, *NO_CHOICE, *NO_OBJECT, *NO_VERDICT]
