"""The generation stages in order, and the file of each."""

from typing import NamedTuple

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean
from evalmark.core.values.plain_data import fingerprint
from evalmark.prompts.specs.spec import PromptSpec


class Stage(NamedTuple):
    """One step from a prompt to its tests."""

    name: str
    file: str
    """The file in the prompt's folder; several stages may write the same file."""
    shown: tuple[str, ...] = ()
    """The fields of the spec that the model is shown besides the prompt; if they change, the file is out of date."""


INTENT = Stage("intent", "intent.txt")
INPUT_SPEC = Stage("input-spec", "input_spec.txt")
RULES = Stage("rules", "rules.txt", ("input_spec",))
GROUNDEDNESS = Stage("groundedness", "generated.json", ("rules",))
INVERSE_RULES = Stage("inverse-rules", "inverse_rules.txt", ("rules",))
TESTS = Stage("tests", "tests.json", ("intent", "input_spec", "rules", "inverse_rules"))
EXPANSION = Stage("expansion", "tests.json")
VALIDITY = Stage("validity", "tests.json")
GROUNDTRUTH = Stage("groundtruth", "tests.json")
BASELINE_TESTS = Stage("baseline-tests", "baseline_tests.json")
STAGES = (
    INTENT,
    INPUT_SPEC,
    RULES,
    GROUNDEDNESS,
    INVERSE_RULES,
    TESTS,
    EXPANSION,
    VALIDITY,
    GROUNDTRUTH,
    BASELINE_TESTS,
)
"""All stages, in order."""


def stage_named(name: str, flag: str = "--redo") -> Stage:
    """Return the stage of a name; `_` equals `-`.

    Raises:
        ConfigError: There is no such stage.
    """
    plain = name.strip().lower().replace("_", "-")
    known = {stage.name: stage for stage in STAGES}
    if plain in known:
        return known[plain]
    advice = did_you_mean(plain, known, "{}") or f"it is one of {', '.join(known)}."
    raise ConfigError(f"{flag}: there is no stage {name!r}; {advice}")


def from_here(stage: Stage) -> tuple[str, ...]:
    """Return the names of a stage and all later ones."""
    return tuple(other.name for other in STAGES[STAGES.index(stage) :])


def basis(stage: Stage, spec: PromptSpec) -> str:
    """Return a hash of what the stage is made from."""
    return fingerprint("stage-1", spec.prompt.fingerprint, [getattr(spec, name) for name in stage.shown])
