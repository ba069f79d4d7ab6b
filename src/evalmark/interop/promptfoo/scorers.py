"""Scorers for promptfoo's assertions: by its definitions, in JavaScript, and in Python."""

import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.foreign.named_objects import load_object
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import plain
from evalmark.core.values.score import Score
from evalmark.inputs.documents.files import path_kind, regular_file
from evalmark.interop.shared.assertions import code_entries
from evalmark.interop.shared.items import is_number
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.binding.text import preview, text_of

from .checks import CHECKS, Grade, NoGradeError, grade, value_for_code
from .javascript.evaluation import Program, read_program
from .javascript.tokens import UnsupportedJavascriptError
from .javascript.values import LimitError, ThrownError, to_python, to_text, truthy, type_of

CODE_SECONDS = 60
"""How long Node.js may run for one output."""
_DECLARES = re.compile(r"(?:const|let|var)\s")
_TEXTS = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`(?:\\.|[^`\\])*`", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class PromptfooAssertion:
    """Check an output by a deterministic assertion of promptfoo, as promptfoo defines it.

    Code in JavaScript is not run: a subset of the language is computed within limits.

    Args:
        assertion: The assertion as in a promptfoo config: `type`, and where it has them `value`, `threshold`, `config`,
            `weight` and `transform`. Variables are already filled in.

    Returns:
        A score that passes or fails; `unscored` if the output lacks what the assertion looks at; status `error` if it takes
        too long. With a weight of 0 the score neither passes nor fails.

    Raises:
        ConfigError: The type is unknown, or the code is outside of the subset.

    >>> check = PromptfooAssertion(assertion={"type": "javascript", "value": "output.length < 10"})
    >>> check(Case(id="1"), Output(value="Oslo")).passed
    True
    """

    name: ClassVar[str] = "promptfoo"

    assertion: Mapping[str, Any]
    _program: Program | None = field(default=None, init=False, repr=False, compare=False)
    _transforms: tuple[Program, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            if self.base == "javascript":
                object.__setattr__(self, "_program", javascript_program(str(self.assertion.get("value"))))
            elif self.base not in CHECKS:
                raise ConfigError(f"promptfoo: there is no deterministic assertion {self.base!r:.40}.")
            object.__setattr__(self, "_transforms", tuple(map(transform_program, transforms_of(self.assertion))))
        except UnsupportedJavascriptError as why:
            raise ConfigError(f"promptfoo: the JavaScript cannot be computed: {why}.") from None

    @property
    def base(self) -> str:
        """The type without `not-`."""
        return str(self.assertion.get("type")).removeprefix("not-")

    def __call__(self, case: Case, output: Output) -> Score:
        """Grade the output."""
        context = {"vars": variables_of(case), "config": self.assertion.get("config")}
        try:
            found = self._grade(transformed_output(self._transforms, case, output), context)
        except NoGradeError as why:
            return unscored(self.name, str(why))
        except LimitError as why:
            return Score(name=self.name, status="error", reason=str(why))
        return self._score(found)

    def _grade(self, output: Output, context: Mapping[str, Any]) -> Grade:
        if self._program is None:
            return grade(self.base, self.assertion, output)
        try:
            result = self._program(value_for_code(output), context)
        except ThrownError as error:
            return Grade(passed=None, score=0, reason=f"the code throws an error: {error}")
        return grade_of_javascript(result, self.assertion.get("threshold"))

    def _score(self, found: Grade) -> Score:
        is_negated = str(self.assertion.get("type")).startswith("not-")
        passed, score = found.passed, found.score
        if passed is None:  # code that failed fails with and without `not-`
            passed = False
        elif is_negated:
            passed = not passed
            score = 1 - score if found.negated is None else found.negated
        raw = score if math.isfinite(score) else None
        value = float(score) if raw is not None and 0 <= score <= 1 else None
        is_measured = self.assertion.get("weight") == 0
        return Score(name=self.name, raw=raw, value=value, passed=None if is_measured else passed, reason=found.reason)


def variables_of(case: Case) -> dict[str, Any]:
    """Return the variables of a promptfoo test that became a case."""
    if case.input is None:
        return {}
    return dict(plain(case.input)) if isinstance(case.input, Mapping) else {"input": plain(case.input)}


def transforms_of(assertion: Mapping[str, Any]) -> list[str]:
    """Return the code that changes the output before an assertion, in its order."""
    found = assertion.get("transform") or []
    return [found] if isinstance(found, str) else list(found)


def transformed_output(transforms: Iterable[str | Program], case: Case, output: Output) -> Output:
    """Return the output as the code of transforms changes it.

    Raises:
        LimitError: The code fails, or is outside of the subset.
    """
    context = {"vars": variables_of(case), "config": None}
    for code in transforms:
        try:
            program = transform_program(code) if isinstance(code, str) else code
        except UnsupportedJavascriptError as why:
            raise LimitError(f"the transform cannot be computed: {why}") from None
        output = _transformed(program, output, context)
    return output


def _transformed(program: Program, output: Output, context: Mapping[str, Any]) -> Output:
    try:
        value = to_python(program(value_for_code(output), context))
    except ThrownError as error:
        raise LimitError(f"the transform throws an error: {error}") from None
    if value is None:
        raise LimitError("the transform returns nothing")
    return replace(output, value=value, tool_calls=())


# JavaScript.


def function_body(code: str) -> str:
    """Return the body of the function that promptfoo makes of the code of an assertion.

    Several lines are a body; a single one is an expression, or declarations that end with one.
    """
    code = code.rstrip()
    if "\n" in code:
        return code
    line = code.strip().rstrip(";").rstrip()
    if not _DECLARES.match(line):
        return f"return {line}"
    hidden = _TEXTS.sub(lambda match: " " * len(match[0]), line)
    end = hidden.rfind(";") + 1
    return f"{line[:end]} return {line[end:]}" if end and line[end:].strip() else line


@lru_cache(maxsize=1024)
def javascript_program(code: str) -> Program:
    """Read the code of an assertion.

    Raises:
        UnsupportedJavascriptError: It is outside of the subset.
    """
    return _checked(read_program(function_body(code), ("output", "context")))


@lru_cache(maxsize=256)
def transform_program(code: str) -> Program:
    """Read the code of a transform.

    Raises:
        UnsupportedJavascriptError: It is outside of the subset.
    """
    if not isinstance(code, str) or code.startswith("file://"):
        raise UnsupportedJavascriptError("it is in a file")
    return _checked(read_program(code if "\n" in code else f"return {code}", ("output", "context")))


_CONTEXT = ("vars", "config")


def _checked(program: Program) -> Program:
    """Refuse what promptfoo's context has and evalmark does not know."""
    for name in program.properties_of("context"):
        if name not in _CONTEXT:
            raise UnsupportedJavascriptError(f"it uses context.{name}, which evalmark does not know")
    return program


def grade_of_javascript(result: Any, threshold: Any) -> Grade:
    """Grade what the code returned: a boolean, a number, or an object with `pass`, `score` and `reason`."""
    if isinstance(result, bool):
        return Grade(passed=result, score=float(result), reason=f"the code returned {str(result).lower()}")
    if isinstance(result, float):
        passed = result > 0 if threshold is None else result >= float(threshold)
        return Grade(passed=passed, score=result, reason=f"the code returned {to_text(result)}", negated=result)
    if isinstance(result, dict):
        verdict, score, reason = (result.get(key) for key in ("pass", "score", "reason"))
        if isinstance(verdict, bool) and isinstance(score, float) and isinstance(reason, str):
            return Grade(passed=verdict, score=score, reason=str(to_python(reason)), negated=score)
        return Grade(passed=None, score=0, reason="the code returned an object without `pass`, `score` and `reason`")
    what = type_of(result) if truthy(result) or isinstance(result, str) else to_text(result)
    return Grade(passed=None, score=0, reason=f"the code returned {what}, which is no grade")


# Functions that the user named.


@dataclass(frozen=True, kw_only=True)
class CodeAssertion:
    """The base of the scorers that call a function in a file.

    Args:
        file: The file, relative to the suite.
        function: The name of the function.
        least: The least number that passes; None: every number above 0 passes.
        config: The `config` of the assertion, which the function gets in its context.
        case_key: Only cases that ask for it by this name are scored; empty: all cases are.
        negated: Whether it passes if the function says that it fails.
        transform: JavaScript that changes the output before the function gets it.
    """

    file: Path
    function: str = ""
    least: float | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    case_key: str = ""
    negated: bool = False
    transform: Sequence[str] = ()

    def __call__(self, case: Case, output: Output) -> Any:
        """Call the function and return its result as a score."""
        entries = code_entries(case, self.case_key) if self.case_key else [{}]
        if not entries:
            return Score(name=self.function or "code", status="skipped", reason="the row does not ask for it")
        variables = variables_of(case)
        context = {
            "vars": {**variables, "expected": plain(case.expected)} if case.expected is not None else variables,
            "prompt": text_of(case.input),
            "config": plain(entries[0].get("config") or self.config),
            "test": {"vars": variables, "metadata": plain(case.metadata)},
        }
        try:
            value = value_for_code(transformed_output(self.transform, case, output))
        except LimitError as why:
            return Score(name=self.function or "code", status="error", reason=str(why))
        return self._graded(self.call(value, context))

    def call(self, output: Any, context: Mapping[str, Any]) -> Any:
        """Call the function."""
        raise NotImplementedError

    def _graded(self, found: Any) -> Any:
        if isinstance(found, str) and found.lower() in ("true", "false"):
            found = found.lower() == "true"
        if isinstance(found, bool):
            return found != self.negated
        if isinstance(found, (int, float)):
            return {
                "score": found,
                "passed": (found > 0 if self.least is None else found >= self.least) != self.negated,
            }
        return self._graded_mapping(found) if isinstance(found, Mapping) else found

    def _graded_mapping(self, found: Mapping[str, Any]) -> Any:
        passed, score, reason = found.get("pass", found.get("pass_")), found.get("score"), found.get("reason")
        if not (isinstance(passed, bool) and is_number(score) and isinstance(reason, str)):
            what = "the code returned an object without `pass`, `score` and `reason`, which promptfoo always fails"
            return {"score": 0.0, "pass": False, "reason": what}
        is_low = self.least is not None and score < self.least
        return {"score": score, "pass": (passed and not is_low) != self.negated, "reason": reason}


@dataclass(frozen=True, kw_only=True)
class PythonAssertion(CodeAssertion):
    """Call a promptfoo assertion function: `get_assert(output, context)`.

    The function returns a boolean, a number, or a mapping with `pass`, `score` and `reason`.
    """

    name: ClassVar[str] = "python"

    function: str = "get_assert"

    def __post_init__(self) -> None:
        _ = self.check

    @cached_property
    def check(self) -> Callable[..., Any]:
        """The function itself."""
        if path_kind(self.file) != "nothing":
            regular_file(self.file, is_code=True)
        folders = AllowedFolders((self.file.parent.absolute(), Path.cwd()))  # the function must belong to that project
        found = load_object(f"{self.file.stem}:{self.function}", folders, what="assertion")
        if not callable(found):
            raise ConfigError(f"{self.file}: {self.function!r} is not a function.")
        function: Callable[..., Any] = found
        return function

    def call(self, output: Any, context: Mapping[str, Any]) -> Any:
        """Call the function in this process."""
        return self.check(output, context)


_RUNNER = """
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";
console.log = console.info = console.error;
const { file, name, output, context, mark } = JSON.parse(readFileSync(0, "utf8"));
const whole = await import(pathToFileURL(file));
const module = whole.default ?? whole;
const found = [name && whole[name], name && module[name], module, module.default].find((one) => typeof one === "function");
if (!found) throw new Error("the file exports no function" + (name ? " " + name : ""));
const result = await found(output, context);
process.stdout.write("\\n" + mark + (JSON.stringify(result) ?? "null") + "\\n", () => process.exit(0));
"""
_MARK = "evalmark-result:"


@dataclass(frozen=True, kw_only=True)
class NodeAssertion(CodeAssertion):
    """Call a promptfoo assertion function in JavaScript, in a process of Node.js for each output.

    The function returns a boolean, a number, or an object with `pass`, `score` and `reason`.
    """

    name: ClassVar[str] = "javascript"

    def __post_init__(self) -> None:
        if shutil.which("node") is None:
            raise ConfigError(
                f"{self.file}: it needs Node.js, and there is no program `node`; install it, or remove the metric."
            )
        if path_kind(self.file) == "nothing":
            raise ConfigError(f"{self.file}: there is no such file.")
        regular_file(self.file, is_code=True)

    def call(self, output: Any, context: Mapping[str, Any]) -> Any:
        """Call the function in a new process.

        Raises:
            RuntimeError: It fails, or takes longer than a minute.
        """
        given = {
            "file": str(self.file.absolute()),
            "name": self.function,
            "output": output,
            "context": context,
            "mark": _MARK,
        }
        program = shutil.which("node") or "node"
        try:
            done = subprocess.run(  # noqa: S603  the user named the file
                [program, "--input-type=module", "-e", _RUNNER],
                input=json.dumps(given),
                capture_output=True,
                encoding="utf-8",
                cwd=self.file.parent,
                timeout=CODE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{self.file.name} takes longer than {CODE_SECONDS} seconds") from None
        _, marked, result = done.stdout.rpartition(f"\n{_MARK}")
        if done.returncode or not marked:
            lines = [line for line in done.stderr.splitlines() if "Error" in line] or done.stderr.splitlines()[-1:]
            raise RuntimeError(f"{self.file.name}: {preview(lines[0]) if lines else 'it returned nothing'}")
        return json.loads(result)
