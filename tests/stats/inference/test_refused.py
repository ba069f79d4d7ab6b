"""Every public function of the statistical packages refuses what is no number, and names the argument."""

import importlib
import inspect
import math
from pkgutil import walk_packages
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from evalmark import stats
from evalmark.stats.agreement.kappa_alpha import cohen_kappa, krippendorff_alpha
from evalmark.stats.inference.differences import difference
from evalmark.stats.inference.intervals import Interval
from evalmark.stats.inference.means import mean, share, share_interval
from evalmark.stats.summary.random_order import random_order

BAD_NUMBERS = [math.nan, math.inf, -math.inf, "0.5", None, 1j, np.float64("nan")]


def functions():
    """Every function of the statistical packages that refuses what is no number."""
    return [
        pytest.param(one, id=f"{module.__name__.removeprefix('evalmark.stats.')}.{name}")
        for module in modules()
        for name, one in vars(module).items()
        if inspect.isfunction(one) and one.__module__ == module.__name__ and hasattr(one, "__wrapped__")
    ]


def modules():
    return [importlib.import_module(found.name) for found in walk_packages(stats.__path__, "evalmark.stats.")]


def sample(hint: Any, bad: list[Any]) -> Any:
    """A value of the kind that a hint names; of the first number in it, what is `bad`, which is taken off."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (float, int, bool):
        return bad.pop() if bad else 1
    if origin is Literal:
        return inner[0]
    if is_of_evalmark(hint):
        return hint.__new__(hint)  # nothing is looked at before its kind
    if origin in (Union, UnionType):
        return sample(next(one for one in inner if one is not type(None)), bad)
    if origin is tuple:
        return tuple(sample(one, bad) for one in inner)
    if origin is not None and hasattr(origin, "keys"):
        return {("d", "1"): sample(inner[1], bad)}
    if origin is not None and inner and hasattr(origin, "__iter__"):
        return [sample(inner[0], bad)]
    return "x"


def has_number(hint: Any) -> bool:
    return hint in (float, int, bool) or any(
        has_number(one) for one in get_args(hint) if not isinstance(one, (str, list))
    )


def optional(hint: Any) -> bool:
    return type(None) in get_args(hint) or any(
        optional(one) for one in get_args(hint) if not isinstance(one, (str, list))
    )


def is_of_evalmark(hint: Any) -> bool:
    return isinstance(hint, type) and hint.__module__.startswith("evalmark.")


def called(function, name, value):
    """A call with one argument of which only the kind of the others is right, drained where it yields."""
    hints = get_type_hints(function)
    others = {
        other: sample(hints[other], [])
        for other, parameter in inspect.signature(function).parameters.items()
        if other != name and parameter.default is inspect.Parameter.empty
    }
    found = function(**{**others, name: value})
    return list(found) if inspect.isgenerator(found) else found


@pytest.mark.parametrize("function", functions())
def test_what_is_no_number_is_refused_by_the_name_of_the_argument(function):
    hints = get_type_hints(function)
    for name in inspect.signature(function).parameters:
        if not has_number(hints[name]) or "Callable" in str(hints[name]):
            continue
        for bad in BAD_NUMBERS:
            if bad is None and optional(hints[name]):
                continue
            with pytest.raises(ValueError, match=f"{name} must be"):
                called(function, name, sample(hints[name], [bad]))


def test_every_public_function_of_numbers_refuses_what_is_none():
    unchecked = {
        f"{module.__name__}.{name}"
        for module in modules()
        if module.__name__.startswith(("evalmark.stats.inference.", "evalmark.stats.agreement."))
        for name, one in vars(module).items()
        if inspect.isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")
        if not hasattr(one, "__wrapped__") and any(map(has_number, get_type_hints(one).values()))
    }
    assert unchecked == {  # called by functions that have looked at their arguments
        "evalmark.stats.agreement.kappa_alpha.agreement_interval",
        "evalmark.stats.agreement.roc.check_labelled",
    }


@pytest.mark.parametrize("function", functions())
def test_every_value_of_another_kind_is_refused_by_the_name_of_the_argument(function):
    hints = get_type_hints(function)
    for name in inspect.signature(function).parameters:
        hint = hints[name]
        is_many = get_origin(hint) is not None and "Callable" not in str(hint)
        if is_of_evalmark(hint) or is_many:
            with pytest.raises(ValueError, match=f"{name} must be"):
                called(function, name, 1j)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(lambda: share_interval([0.5, 1, 0]), "passed must be zeros and ones, got 0.5", id="half a pass"),
        pytest.param(lambda: share([2, 0, 1]), "zeros and ones, got 2", id="two passes of one"),
        pytest.param(lambda: mean([1.0, math.nan]), "mean: values must be a finite number, got nan", id="mean"),
        pytest.param(lambda: cohen_kappa([1, math.nan], [1, 0]), "first must be a finite number", id="kappa"),
        pytest.param(lambda: krippendorff_alpha([[1, 2], [math.nan, 2]]), "units must be a finite number", id="alpha"),
        pytest.param(
            lambda: krippendorff_alpha(iter([[1, 2], [3, math.inf]])), "units must be a finite number", id="once read"
        ),
        pytest.param(
            lambda: difference(("a", "b"), {("d", "1"): 1.2}, {}), "first: values called bounded", id="beyond 1"
        ),
        pytest.param(lambda: difference(("a", "b"), {}, {}, 0.95, -1.0), "margin must not be below 0", id="margin"),
    ],
)
def test_what_gave_plausible_numbers_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_numbers_of_other_libraries_are_numbers():
    assert mean(np.array([0.5, 1.0]).tolist()) == mean([np.float64(0.5), np.float32(1)]) == 0.75
    assert share_interval([np.True_, np.False_, True, 0]).known
    assert isinstance(share_interval([np.int64(1)]), Interval)
    assert krippendorff_alpha(pair for pair in [[1, 2], [3, 4], [1, 1]]) is not None


def test_a_mapping_is_an_iterable_of_its_keys():
    assert sorted(random_order({("d", 1): "a row", ("d", 2): "another"}, 7)) == [("d", 1), ("d", 2)]
