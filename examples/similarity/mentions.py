"""A scorer of our own: a plain function of the case and the output."""

from evalmark import Case, Output, Score


def mentions(case: Case, output: Output) -> Score:
    """The answer names every fact that the case asks for under `must_mention`."""
    facts = case.metadata["must_mention"]
    missing = [fact for fact in facts if fact not in output.value]
    return Score(
        name="mentions",
        value=1 - len(missing) / len(facts),
        passed=not missing,
        reason=f"not mentioned: {', '.join(missing)}" if missing else "",
    )
