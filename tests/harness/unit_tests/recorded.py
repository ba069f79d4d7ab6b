"""Sessions and labels as an app and its users leave them, and vectors whose cosines are known."""

import math
import re
from pathlib import Path

from evalmark.core.values.label import Label, content_fingerprint
from evalmark.core.values.session import Session, Span
from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy
from evalmark.store import open_store
from evalmark.unit_tests import LabeledOutput, TestCase, UnitTest, UnitTestSession

MOMENT = "2026-11-22T00:00:00.000000Z"


def angle(text: str) -> list[float]:
    """The unit vector at the angle that a text names as `deg=`; zeros where it says `zero`."""
    if "zero" in text:
        return [0.0, 0.0]
    found = re.search(r"deg=(-?[\d.]+)", text)
    radians = math.radians(float(found[1]) if found else 0.0)
    return [math.cos(radians), math.sin(radians)]


def cosine(**settings) -> CosineScoreEvaluationStrategy:
    """The strategy over those vectors."""
    return CosineScoreEvaluationStrategy(embed_function=angle, **settings)


def case(*outputs: tuple[int, object], **fields) -> TestCase:
    """A test case with labelled outputs, `(1, "ref deg=10")` say."""
    known = {"inputs": {"question": "why?"}, "outputs": [LabeledOutput(label=n, value=v) for n, v in outputs]}
    return TestCase(**(known | fields))


def near(number: int = 0, **fields) -> TestCase:
    """A case that an answer `deg=0` passes; its number tells it from others."""
    return case((1, f"liked {number} deg=5"), **({"inputs": {"question": number}} | fields))


def record(path: Path, *answers: dict, project: str = "demo") -> list[str]:
    """Keep answers (fields of a Span, `likes` as a list of thumbs, one a person) in a store; gives their ids."""
    spans, labels = [], []
    for number, given in enumerate(answers):
        fields = dict(given)
        thumbs = fields.pop("likes", [])
        known = {"id": f"{number:016x}", "session": "5" * 16, "project": project, "started": MOMENT}
        span = Span(**(known | fields))
        spans.append(span)
        labels += [
            Label(
                about=f"span:{span.id}",
                liked=liked,
                by=f"person {who}",
                created=MOMENT,
                content=content_fingerprint(span.input, span.output),
            )
            for who, liked in enumerate(thumbs)
        ]
    with open_store(path) as store:
        store.sessions.add([Session(id="5" * 16, project=project, started=MOMENT)], spans)
        store.sessions.add_labels(labels)
    return [span.id for span in spans]


def good(inputs):
    """A function that passes such cases."""
    return "deg=0"


def bad(inputs):
    """A function that does not."""
    return "deg=90"


def quiet(count=1, **options) -> UnitTest:
    """A test over so many such cases, which does not fail the process."""
    return UnitTest("quiet", cosine(), raise_on_failure=False, **options).for_test_cases(
        [near(n) for n in range(count)]
    )


def run(unit_test: UnitTest, function, **options) -> UnitTestSession:
    """Evaluate a function on every case; a text is the result of each. Gives the test when it is over."""
    with unit_test as test:
        for test_case in test.test_cases():
            if isinstance(function, str):
                test_case.evaluate_result(function)
            else:
                test_case.evaluate(function, **options)
    return test


def used(unit_test: UnitTest, use) -> UnitTestSession:
    """Do something inside of a test. Gives the test when it is over."""
    with unit_test as test:
        use(test)
    return test
