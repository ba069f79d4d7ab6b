"""The list of benchmarks: the group of each, and the options of its short form."""

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PARTS = (
    "viewer_client.py",
    "browser.py",
    "catalogue.py",
    "faulty_server.py",
    "floor.py",
    "interop_server.py",
    "machine.py",
    "mock_server.py",
    "mutant_tests.py",
    "mutants.py",
    "mutation.py",
    "peaks.py",
    "rows.py",
    "runner.py",
    "scale_world.py",
)
"""Modules that benchmarks share; they are not benchmarks."""


@dataclass(frozen=True)
class Script:
    """One benchmark; `short` are the options for a test run of some seconds; None if names are none."""

    name: str
    group: str
    short: tuple[str, ...] | None = None

    @property
    def path(self) -> Path:
        return HERE / self.name

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def first_sentence(self) -> str:
        """What it measures: the first line of its docstring."""
        return self.text.removeprefix('"""').partition("\n")[0].rstrip('"')

    @property
    def writes_rows(self) -> bool:
        return "from rows import" in self.text


def _short(words: str) -> tuple[str, ...]:
    return tuple(words.split())


KNOWN = (
    Script("orchestration.py", "orchestration", _short("--short")),
    Script("prompts.py", "orchestration"),
    Script("http_clients.py", "orchestration", _short("--cases 100 --rounds 1")),
    Script("startup.py", "startup", _short("--runs 3")),
    Script("install_size.py", "startup", _short("--top 3")),
    Script("instant.py", "large", _short("--cases 500")),
    Script("large.py", "large", _short("--megabytes 5")),
    Script("reading.py", "large", _short("--size 5")),
    Script("call_log.py", "store", _short("--calls 1280")),
    Script("masking.py", "store", _short("--calls 100")),
    Script("server_store.py", "store", _short("--calls 100")),
    Script("cluster.py", "cluster", _short("--cases 40")),
    Script("scale_sim.py", "cluster", _short("--short")),
    Script("embedding.py", "embedding", _short("--texts 200")),
    Script("precision.py", "embedding", _short("--texts 60")),
    Script("rag.py", "rag", _short("--items 5")),
    Script("what_cosines_miss.py", "rag", ()),
    Script("unit_tests.py", "embedding", _short("--cases 20 --rounds 1")),
    Script("viewer.py", "viewer", _short("--results 2000")),
    Script("run_list.py", "viewer", _short("--runs 20 --results 500")),
    Script("sessions.py", "viewer", _short("--sessions 8000")),
    Script("html_report.py", "report", _short("--cases 200")),
    Script("recording.py", "recording"),
    Script("tools.py", "recording", ()),
    Script("wrappers.py", "calls"),
    Script("constructors.py", "calls", _short("--cases 200")),
    Script("limits.py", "calls", _short("--cases 20 --latency 100")),
    Script("latency.py", "calls", _short("--cases 40 --busy 0")),
    Script("comparing.py", "compare", _short("--cases 200")),
    Script("comparison_errors.py", "statistics", _short("--rounds 2")),
    Script("planning.py", "statistics", _short("--rounds 3 --cases 30")),
    Script("pairs.py", "statistics", _short("--most 20 --cases 20")),
    Script("labels.py", "statistics", _short("--rounds 10")),
    Script("intervals.py", "statistics", _short("--rounds 4 --sizes 5 20")),
    Script("clusters.py", "statistics", _short("--rounds 4 --compared 4")),
    Script("variance.py", "statistics", _short("--rounds 4 --widths 2")),
    Script("trend.py", "statistics", _short("--series 4 --runs 20")),
    Script("sequential.py", "statistics", _short("--runs 200 --cases 200 --gated 40")),
    Script("pytest_plugin.py", "pytest", _short("--cases 50 --runs 1")),
    Script("interop.py", "interop"),
    Script("structure.py", "structure", ()),
    Script("peer_runs.py", "peers", _short("--cases 100 --runs 1")),
)


def scripts() -> list[Script]:
    """Return all benchmarks in the order in which they run; a script that is not listed is its own group."""
    names = {path.name for path in HERE.glob("*.py")} - set(PARTS)
    listed = [script for script in KNOWN if script.name in names]
    new = sorted(names - {script.name for script in listed})
    return listed + [Script(name, Path(name).stem) for name in new]
