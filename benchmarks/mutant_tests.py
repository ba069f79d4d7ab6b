"""Puts mutants into the running code and runs tests on them, each in a copy of one process that has collected the tests."""

import ast
import builtins
import contextlib
import functools
import gc
import importlib
import inspect
import json
import os
import select
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import mutation
import pytest
from mutation import Found, Place

ROOT = Path(__file__).resolve().parents[1]
REACHED = "_evalmark_reached"
"""A builtin function that watched code calls."""
SLACK, TIMES = 15.0, 6.0
"""A test may take so many seconds, and so many times what it takes without a mutant."""
UNKNOWN = 90.0
"""Seconds for a test whose usual time is not known, and for the collection before the first."""

Line = dict[str, Any]
Send = Callable[[Line], None]
Before = tuple[list[float], dict[int, set[int]], set[int]]
"""Seconds of the tests, the tests that reach each mutant, and the tests that fail."""


# Code that is changed while it runs


def mutated(file: str, number: int) -> CodeType:
    return _compiled(file, lambda tree, places: places[number].apply())


def watched(file: str, numbers: dict[int, int]) -> CodeType:
    """The module, telling which of its mutants would have been executed."""
    return _compiled(
        file,
        lambda tree, places: mutation.record(tree, {n: places[at].statement for n, at in numbers.items()}, REACHED),
    )


def _compiled(file: str, change: Callable[[ast.Module, list[Place]], object]) -> CodeType:
    return mutation.compiled(str(ROOT / file), (ROOT / file).read_text("utf-8"), change)


class Loader(SourceFileLoader):
    """Loads a module of other code than its file has."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class Importing:
    """Gives modules that are imported from now on the code that it is told."""

    def __init__(self, codes: dict[str, CodeType]) -> None:
        self.codes = {module_name(file): (file, code) for file, code in codes.items()}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self.codes:
            return None
        file, code = self.codes[name]
        return spec_from_file_location(name, str(ROOT / file), loader=Loader(name, str(ROOT / file), code))


def module_name(file: str) -> str:
    return ".".join(Path(file).with_suffix("").parts[1:]).removesuffix(".__init__")


def pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions of two versions of a module; one that a mutant cuts off has no counterpart."""
    yield old, new
    left = [one for one in new.co_consts if isinstance(one, CodeType)]
    for one in (code for code in old.co_consts if isinstance(code, CodeType)):
        for other in left:
            if (one.co_qualname, one.co_firstlineno) == (other.co_qualname, other.co_firstlineno):
                left.remove(other)
                yield from pairs(one, other)
                break


def differs(old: CodeType, new: CodeType) -> bool:
    """Whether the code itself differs, leaving aside that of functions in it."""
    mine, other = ([c for c in code.co_consts if not isinstance(c, CodeType)] for code in (old, new))
    return (old.co_code, old.co_names, repr(mine)) != (new.co_code, new.co_names, repr(other))


class Living:
    """The functions of the package and the caches that this process has."""

    def __init__(self) -> None:
        gc.unfreeze()
        self.functions: dict[tuple[str, CodeType], list[FunctionType]] = defaultdict(list)
        self.caches: list[functools._lru_cache_wrapper[Any]] = []
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(ROOT / "src")):
                self.functions[one.__code__.co_filename, one.__code__].append(one)
            elif isinstance(one, functools._lru_cache_wrapper) and one.__module__.startswith(("evalmark", "test")):
                self.caches.append(one)
        gc.freeze()

    def swap(self, file: str, new: CodeType) -> bool:
        """Change a module's functions; False where the change is in what runs once, at its import."""
        done = False
        at_import = False
        for one, other in pairs(_compiled(file, lambda *_: None), new):
            at_import = at_import or (differs(one, other) and not one.co_flags & inspect.CO_OPTIMIZED)
            for function in self.functions.get((str(ROOT / file), one), ()) if one != other else ():
                function.__code__ = other
                done = True
        return done and not at_import

    def forget(self) -> None:
        for cache in self.caches:
            cache.cache_clear()


# Tests, and processes that run them


class Session:
    """A plugin of pytest: collects some files and hands their tests to `work` instead of running them."""

    def __init__(self, files: dict[str, str], work: Callable[["Session", list[pytest.Item]], None]) -> None:
        self.files, self.work = files, work
        self.failed, self.error = False, ""
        self.at_setup: Callable[[], None] = lambda: None

    def collect(self, folder: str, options: list[str]) -> int:
        """Run pytest as the README does, on these files' folders; what tests write is put below `folder`."""
        folders = sorted({str(Path(file).parent) for file in self.files})
        outermost = [one for one in folders if not any(one.startswith(f"{other}/") for other in folders)]
        own = ["-q", "-p", "no:cacheprovider", f"--basetemp={folder}/t", *options]
        return int(pytest.main([*own, *outermost], plugins=[self]))

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """No time goes into making the example of a failure small."""
        import hypothesis  # noqa: PLC0415  pytest wants to be the first

        phases = [phase for phase in hypothesis.Phase if phase.name not in ("shrink", "explain")]
        hypothesis.settings.register_profile("mutants", parent=hypothesis.settings(), phases=phases)
        hypothesis.settings.load_profile("mutants")

    def pytest_internalerror(self, excrepr: object) -> None:
        self.error = str(excrepr)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("tests could not be collected")
        self.work(self, [item for item in session.items if file_of(item) in self.files])
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed
        if report.when == "setup":
            self.at_setup()

    def run(self, items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, bool, float]]:
        """Each test with whether it failed, and its seconds."""
        for item, following in zip(items, (*items[1:], None), strict=False):
            self.failed, started = False, time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item, self.failed, time.perf_counter() - started

    def until_failed(self, items: list[pytest.Item], send: Send) -> None:
        for item, failed, _ in self.run(items):
            send({"failed": item.nodeid if failed else None})
            if failed:
                return


def file_of(item: pytest.Item) -> str:
    return str(item.path.relative_to(ROOT))


def forked(work: Callable[[Send], object], limit: Callable[[int], float | None]) -> Iterator[Line]:
    """What a copy of this process tells of its work, until it waits longer for the next line than `limit` says of its number."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _as_child(work, writing)
    os.close(writing)
    ended, told, rest = False, 0, b""
    try:
        while not ended:
            if not select.select([reading], [], [], limit(told))[0]:
                yield {"timeout": True}
                return
            read = os.read(reading, 1 << 16)
            if not read:
                yield {"died": True}
                return
            *lines, rest = (rest + read).split(b"\n")
            for line in map(json.loads, lines):
                ended = ended or line == "end"
                told += 1
                if not ended:
                    yield line
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # it, and what its tests have left
        os.waitpid(child, 0)


def _as_child(work: Callable[[Send], object], writing: int) -> None:
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(quiet, number)
    try:
        work(lambda line: _write(writing, line))
        _write(writing, "end")
    except BaseException:  # noqa: BLE001  this process ends here
        _write(writing, {"died": traceback.format_exc()})
    finally:
        os._exit(0)


def _write(writing: int, line: object) -> None:
    left = json.dumps(line).encode() + b"\n"
    while left:
        left = left[os.write(writing, left) :]


class Trial:
    """What a session does with its tests: try each mutant that can be put into functions of a running process."""

    def __init__(self, where: dict[int, Found], packages: dict[int, str], send: Send) -> None:
        self.where, self.packages, self.send = where, packages, send

    def __call__(self, session: Session, items: list[pytest.Item]) -> None:
        for found in self.where.values():
            importlib.import_module(module_name(found.file))
        living = Living()
        living.forget()
        seconds, reach, broken = self._before(session, items, living)
        self.send({"tests": len(items), "seconds": sum(seconds), "broken": [items[n].nodeid for n in broken]})
        killers = set()
        for number, found in self.where.items():
            chosen = sorted(reach[number] - broken, key=order(items, session.files, self.packages[number], seconds))
            started = time.perf_counter()
            line = self._one(session, living, found, [items[n] for n in chosen], [seconds[n] for n in chosen])
            killers.add(line["by"])
            taken = round(time.perf_counter() - started, 1)
            self.send({"id": number, "tests": len(chosen), "seconds": taken, **line})
        known = [n for n, item in enumerate(items) if item.nodeid in killers]
        self.send({"unsteady": self._failing(session, [items[n] for n in known])})

    @staticmethod
    def _failing(session: Session, items: list[pytest.Item]) -> list[str]:
        """Tests that have found mutants and fail without one too."""

        def work(send: Send) -> None:
            for item, failed, _ in session.run(items):
                if failed:
                    send({"name": item.nodeid})

        return [line.get("name", str(line)) for line in forked(work, lambda _: None)]

    def _before(self, session: Session, items: list[pytest.Item], living: Living) -> Before:
        """What the tests do without mutants."""
        seconds, broken = [0.0] * len(items), set()
        reach: dict[int, set[int]] = defaultdict(set)
        of_file: dict[str, set[int]] = defaultdict(set)
        for number, item in enumerate(items):
            of_file[file_of(item)].add(number)
        for line in forked(lambda send: self._watch(session, items, living, send), lambda _: 600.0):
            if "n" not in line:
                raise RuntimeError(f"the tests do not get to their end without a mutant: {line}")
            number = line["n"]
            seconds[number] = line["seconds"]
            broken |= {number} if line["failed"] else set()
            for mutant in line["reached"]:
                reach[mutant].add(number)
            for mutant in line["setup"]:  # a fixture of a whole file is set up once
                reach[mutant] |= of_file[file_of(items[number])]
        return seconds, reach, broken

    def _watch(self, session: Session, items: list[pytest.Item], living: Living, send: Send) -> None:
        reached: set[int] = set()
        setup: set[int] = set()
        setattr(builtins, REACHED, reached.add)

        def is_set_up() -> None:
            setup.update(reached)
            reached.clear()

        session.at_setup = is_set_up
        for file, numbers in by_file(self.where).items():
            living.swap(file, watched(file, numbers))
        for number, (_, failed, seconds) in enumerate(session.run(items)):
            send({"n": number, "failed": failed, "seconds": seconds, "reached": [*reached], "setup": [*setup]})
            for one in (reached, setup):
                one.clear()
            living.forget()

    def _one(
        self, session: Session, living: Living, found: Found, items: list[pytest.Item], seconds: list[float]
    ) -> Line:
        def work(send: Send) -> None:
            if not living.swap(found.file, mutated(found.file, found.number)):
                send({"import": True})
                return
            send({"swapped": True})
            session.until_failed(items, send)

        usual = [1.0, *seconds, 1.0]
        return outcome(forked(work, lambda told: SLACK + TIMES * usual[min(told, len(usual) - 1)]))


def by_file(where: dict[int, Found]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for number, one in where.items():
        found[one.file][number] = one.number
    return found


def order(items: list[pytest.Item], files: dict[str, str], package: str, seconds: list[float]) -> Callable[[int], Any]:
    """Tests of the mutant's own package first, then file by file, the quick ones before."""
    total: dict[str, float] = defaultdict(float)
    for item, taken in zip(items, seconds, strict=True):
        total[file_of(item)] += taken
    return lambda n: (files[file_of(items[n])] != package, total[file_of(items[n])], file_of(items[n]), n)


def outcome(lines: Iterator[Line]) -> Line:
    for number, line in enumerate(lines):
        if "died" in line and line["died"] is not True and not number:
            return {"outcome": "not tried", "by": line["died"]}
        if "import" in line:
            return {"outcome": "at import", "by": None}
        if "timeout" in line or "died" in line:
            return {"outcome": "timeout" if "timeout" in line else "killed", "by": "the end of the process"}
        if line.get("failed"):
            return {"outcome": "killed", "by": line["failed"]}
    return {"outcome": "survived", "by": None}


def at_import(found: Found, package: str, files: dict[str, str], folder: str, options: list[str]) -> Line:
    """A mutant of what a module does when it is imported: in a process that has not imported it."""

    def work(send: Send) -> None:
        sys.meta_path.insert(0, Importing({found.file: mutated(found.file, found.number)}))

        def test(session: Session, items: list[pytest.Item]) -> None:
            if not isinstance(importlib.import_module(module_name(found.file)).__loader__, Loader):
                raise RuntimeError(f"{found.file} was imported without its mutant")  # noqa: TRY004
            send({"ready": True})
            ordered = sorted(range(len(items)), key=order(items, files, package, [0.0] * len(items)))
            session.until_failed([items[n] for n in ordered], send)

        session = Session(files, test)
        code = session.collect(folder, ["--assert=plain", *options])  # else pytest imports modules in a way of its own
        if code:
            send({"failed": "the collection"} if code == pytest.ExitCode.INTERRUPTED else {"died": session.error})

    started = time.perf_counter()
    told = outcome(forked(work, lambda _: UNKNOWN))
    return {**told, "seconds": round(time.perf_counter() - started, 1), "tests": None}
