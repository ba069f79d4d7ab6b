"""The pytest plugin: runs evals as tests.

pytest loads this file in every run of an environment where evalmark is installed, so it is small: the other modules load with
the first eval.
"""

from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from evalmark.core.lazy import need
from evalmark.harness.evals.pytest_run import CURRENT_PYTEST_RUN

from .skips import PLACE, Skips, mark_skipped, skipped_items

REPLAY = ("auto", "replay", "record", "strict", "off")
SOFT = "evals that do not pass leave the exit code unchanged"
_PLUGIN = pytest.StashKey[Any]()
_ITEM = pytest.StashKey[pytest.Item | None]()
_RUN_TOKEN = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin; each is described in the documentation."""
    group = parser.getgroup("evalmark", "evals of language models (evalmark)")
    add = group.addoption
    add(
        "--evalmark",
        action="store_true",
        default=None,
        help="Run evals; without it they are skipped, since they may cost money.",
    )
    add(
        "--evalmark-judge",
        metavar="MODEL",
        help="The judge of evals that name none, such as openai/NAME; several separated by commas; else EVALMARK_JUDGE.",
    )
    add(
        "--evalmark-store",
        metavar="FILE",
        help="A file or postgresql://… for the run; else EVALMARK_STORE, .evalmark/evalmark.db.",
    )
    add(
        "--evalmark-baseline",
        metavar="RUN",
        help="A stored run to compare with: an id, `last`, `last~1`, `last-green`.",
    )
    add(
        "--evalmark-replay",
        metavar="MODE",
        choices=REPLAY,
        help="Use of recorded replies: auto (or replay) reuses them; record sends all requests again; strict sends none; "
        "off ignores them [auto].",
    )
    add(
        "--evalmark-resume",
        metavar="RUN",
        nargs="?",
        const="last",
        help="Resume an interrupted run [the last].",
    )
    add(
        "--evalmark-min-pass-rate",
        metavar="RATE",
        type=_share,
        help="Minimum share of passing trials [1.0].",
    )
    add("--evalmark-min-score", metavar="SCORE", type=_share, help="Minimum mean of every metric.")
    add("--evalmark-max-unscored", metavar="N", type=_number, help="Maximum number of unscored trials [0].")
    add("--evalmark-max-errors", metavar="N", type=_number, help="Maximum number of trials with an error [0].")
    add(
        "--evalmark-soft",
        action="store_true",
        default=False,
        help="Report evals that do not pass as soft-failed; they do not change the exit code.",
    )
    parser.addini("evalmark_run", "Run evals also without --evalmark.", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and let expectations find this pytest run."""
    config.addinivalue_line(
        "markers",
        "evalmark(suite=None, data=None, scorers=(), repeat=1, threshold=..., judge=None): the test is an eval; "
        "what it logs and scores with `evalmark_case` is stored, and it is skipped without --evalmark.",
    )
    config.pluginmanager.register(Skips(), "evalmark-skips")
    config.stash[_ITEM] = None
    config.stash[_RUN_TOKEN] = CURRENT_PYTEST_RUN.set(lambda: plugin_of(config).state)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that evals cannot fail this run."""
    if _is_on(config) and config.getoption("evalmark_soft"):
        return f"evalmark: --evalmark-soft, {SOFT}"
    return None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let expectations run without pytest again."""
    CURRENT_PYTEST_RUN.reset(config.stash[_RUN_TOKEN])


def plugin_of(config: pytest.Config) -> Any:
    """Return the plugin that runs evals, created and registered with pytest at the first call."""
    if _PLUGIN not in config.stash:
        need(
            "evalmark.core.foreign.import_guard"
        ).guard_imports()  # pytest puts test folders in front of the import path
        plugin = need("evalmark.harness.pytest_plugin.plugin").EvalPlugin(config, lambda: config.stash[_ITEM])
        config.stash[_PLUGIN] = plugin
    return config.stash[_PLUGIN]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect `eval_*.py` files too, when evals are switched on."""
    if file_path.suffix == ".py" and file_path.name.startswith("eval_") and _is_on(parent.config):
        patterns = parent.config.getini("python_files")
        if not any(file_path.match(pattern) for pattern in patterns) and not parent.session.isinitpath(file_path):
            module: pytest.Collector = pytest.Module.from_parent(parent, path=file_path)
            return module
    return None


def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> list[pytest.Item] | None:
    """Return the tests of the evals that a module defines."""
    if name != "__evalmark__":
        return None
    if not _is_on(collector.config):
        return skipped_items(collector, obj)
    items: list[pytest.Item] = plugin_of(collector.config).items(collector, obj)
    return items


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each case and repeat of a marked test."""
    marker = metafunc.definition.get_closest_marker("evalmark")
    if marker is not None and _is_on(metafunc.config):
        plugin_of(metafunc.config).repeat(metafunc, marker)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip marked tests, and tests that use a case, unless evals are switched on."""
    for index, item in enumerate(items):
        item.stash[PLACE] = index
    marked = [item for item in items if _is_marked(item)]
    if marked and _is_on(config):
        plugin_of(config).gather(marked)
    elif marked:
        mark_skipped(marked)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Remember which test is running, for expectations in it."""
    item.config.stash[_ITEM] = item


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: Any) -> None:
    """Store the results of xdist workers in the main process."""
    config = getattr(getattr(report, "node", None), "config", None)
    if config is not None and _PLUGIN not in config.stash and _concerns_evals(report):
        plugin_of(config)
        config.pluginmanager.getplugin("evalmark-ending").pytest_runtest_logreport(report)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Apply the gate if no eval has run."""
    config = session.config
    if _PLUGIN not in config.stash and _is_gated(config) and not hasattr(config, "workerinput"):
        plugin_of(config)
        # pytest has already collected the hooks to call
        config.pluginmanager.getplugin("evalmark-ending").pytest_sessionfinish(session, exitstatus)


@pytest.fixture
def evalmark_case(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The case of a marked test: `log` the output of the system, `score` or `judge` it."""
    return plugin_of(request.config).case(request)  # type: ignore[no-any-return]


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("evalmark") is not None or "evalmark_case" in getattr(item, "fixturenames", ())


def _concerns_evals(report: Any) -> bool:
    return any(hasattr(report, name) for name in ("evalmark_begun", "evalmark", "evalmark_verdict"))


def _is_on(config: pytest.Config) -> bool:
    return bool(config.getoption("evalmark") or config.getini("evalmark_run"))


def _is_gated(config: pytest.Config) -> bool:
    names = ("min_pass_rate", "min_score")
    has_gate = any(config.getoption(f"evalmark_{name}") is not None for name in names)
    return has_gate and _is_on(config) and not config.option.collectonly


def _share(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (number := float(text)) <= 1:
            return number
    raise ArgumentTypeError(f"{text!r} is not a number from 0 to 1")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
