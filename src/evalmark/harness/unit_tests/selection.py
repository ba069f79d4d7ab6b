"""Selects the cases of a unit test: labelled recordings, a file, or a list."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.case import Case
from evalmark.core.values.run import DatasetInfo
from evalmark.inputs.documents.files import dataset_name
from evalmark.storage.sessions.examples import LabelledAnswers
from evalmark.storage.store.location import display_location, store_exists
from evalmark.storage.store.store import Store, open_store

from .case_files import read_test_cases
from .labeled import TestCase, as_case, from_case

PROJECT_VARIABLES = ("EVALMARK_TRACKING_PROJECT", "PROMPTWATCH_TRACKING_PROJECT")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedCase:
    """A test case, and its row in the run."""

    test_case: TestCase
    case: Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The cases of a unit test."""

    info: DatasetInfo
    items: tuple[SelectedCase, ...]
    is_template: bool = False
    """Whether the outputs are those of a prompt, and so texts."""
    notes: tuple[str, ...] = ()


Selector = Callable[[str], Selection]
"""Returns the cases; its argument is the store."""


def of_project(tracking_project: str | None, environ: Mapping[str, str]) -> Selector:
    """Select the labelled outputs of a project, named here or in the environment.

    Raises:
        ConfigError: no project is named.
    """
    project = tracking_project or next((environ[name] for name in PROJECT_VARIABLES if environ.get(name)), None)
    if project is None or not isinstance(project, str):
        raise ConfigError(
            f"for_project_sessions: tracking_project parameter is required; found {tracking_project!r}. Name the project of "
            "evalmark.record(), or set EVALMARK_TRACKING_PROJECT."
        )

    def select(location: str) -> Selection:
        with _open_recorded(location, f"project {project!r}") as store:
            answers = store.sessions.labelled_answers(project)
            projects = store.sessions.projects() if not answers.cases else []
        _require_cases(answers, display_location(location), f"project {project!r}", "answers", projects)
        return _recorded_selection(
            project, answers, [(from_case(case, project=project), case) for case in answers.cases]
        )

    return select


def of_template(name: Any) -> Selector:
    """Select the labelled outputs of a registered prompt.

    Raises:
        ConfigError: the name is not a text.
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(f"for_prompt_template: the name of a registered prompt is a text; found {name!r:.100}.")

    def select(location: str) -> Selection:
        with _open_recorded(location, f"prompt {name!r}") as store:
            answers = store.sessions.labelled_template_outputs(name)
        _require_cases(answers, display_location(location), f"prompt {name!r}", "outputs", [])
        selected = _recorded_selection(
            name, answers, [(from_case(case, template=name), case) for case in answers.cases]
        )
        return replace(selected, is_template=True)

    return select


def of_list(test_cases: Iterable[TestCase | Mapping[str, Any]]) -> Selector:
    """Select cases made in Python.

    Raises:
        ConfigError: one of them is not a test case.
    """
    if isinstance(test_cases, (str, Mapping, TestCase)):
        raise ConfigError(f"for_test_cases: a list of TestCase is expected; found {test_cases!r:.100}.")
    cases = [_test_case(one, number) for number, one in enumerate(test_cases, 1)]

    def select(location: str) -> Selection:
        return _selection("test cases", "", [(f"test case {number}", case) for number, case in enumerate(cases, 1)])

    return select


def of_file(file: Any) -> Selector:
    """Select the cases of a file, which is read when the test begins."""
    path = Path(file)

    def select(_: str) -> Selection:
        return _selection(dataset_name(path), str(path), read_test_cases(path))

    return select


def _test_case(fields: Any, number: int) -> TestCase:
    if isinstance(fields, TestCase):
        return fields
    try:
        return TestCase(**fields)
    except (TypeError, ConfigError) as fault:
        message = str(fault) if isinstance(fault, ConfigError) else f"{fields!r:.100} is not a TestCase."
        raise ConfigError(f"for_test_cases: test case {number}: {message}") from None


def _selection(name: str, path: str, cases: Sequence[tuple[str, TestCase]]) -> Selection:
    if not cases:
        raise ConfigError(f"{path or name}: there is no test case; add at least one.")
    ids = Counter(case.id for _, case in cases if case.id is not None)
    if repeated := [identity for identity, times in ids.items() if times > 1]:
        raise ConfigError(
            f"{path or name}: {ids[repeated[0]]} test cases have the id {repeated[0]!r}; give each its own."
        )
    return Selection(info=DatasetInfo(name=name, path=path), items=_unique_items(cases))


def _unique_items(cases: Sequence[tuple[str, TestCase]]) -> tuple[SelectedCase, ...]:
    """Return rows for the run; cases with the same generated id get a number."""
    items: list[SelectedCase] = []
    times: Counter[str] = Counter()
    for place, test_case in cases:
        case = as_case(test_case, place)
        times[case.id] += 1
        if times[case.id] > 1:
            case = replace(case, id=f"{case.id}-{times[case.id]}")
        items.append(SelectedCase(test_case=test_case, case=case))
    return tuple(items)


def _open_recorded(location: str, what: str) -> Store:
    if not store_exists(location):
        raise ConfigError(
            f"{display_location(location)}: there is no store, so nothing is recorded of {what}. Record sessions with evalmark.record(), label "
            "them with: evalmark note ID --label up"
        )
    return open_store(location, read_only=True)


def _require_cases(answers: LabelledAnswers, path: str, what: str, noun: str, projects: Sequence[str]) -> None:
    """Raise ConfigError if no case was found, with the reason and what to do."""
    if answers.cases:
        return
    left_out = answers.unlabelled + answers.contested + answers.failed
    if not left_out:
        existing = f" Existing projects: {', '.join(projects)}." if projects else ""
        raise ConfigError(
            f"{path}: nothing is recorded of {what}, so there is nothing to test.{existing} Record sessions with "
            "evalmark.record(), then label them: evalmark note ID --label up"
        )
    raise ConfigError(
        f"{path}: {count(left_out, noun[:-1])} recorded of {what}, and none of them is a test case: {_left_out(answers)}. Label "
        "some (evalmark list sessions shows their ids): evalmark note ID --label up"
    )


def _left_out(answers: LabelledAnswers) -> str:
    parts = [
        (answers.unlabelled, "without a label"),
        (answers.contested, "liked by as many as dislike it"),
        (answers.failed, "ended in an error"),
    ]
    return ", ".join(f"{number:,} {why}" for number, why in parts if number)


def _recorded_selection(name: str, answers: LabelledAnswers, cases: Sequence[tuple[TestCase, Case]]) -> Selection:
    notes = (f"Left out of {name}: {_left_out(answers)}.",) if answers.contested or answers.failed else ()
    items = tuple(SelectedCase(test_case=test_case, case=case) for test_case, case in cases)
    return Selection(info=DatasetInfo(name=name), items=items, notes=notes)
