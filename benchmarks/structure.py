"""How large the source is, how its modules depend on each other, and how many of its files one case passes on its way.

The way of a case: the command line runs a suite of one case, one prompt and one model, with one scorer, into a new store, and
writes a report. It is done twice in this process; the first time loads everything. In the second, every function of the
package that is entered is noted from the moment when the file of cases is opened until the command returns. A file holds the
case where an argument, a local variable or the return value of one of its functions is the case, or a trial, a result, a list,
a tuple or a dictionary that contains it.

How often scorers are bound is counted over the whole second run; `--binding` names the function that does it.

Run: python benchmarks/structure.py [--binding MODULE:FUNCTION] [--list]
"""

import argparse
import ast
import contextlib
import dataclasses
import io
import os
import re
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, FrameType

from orchestration import server_at
from rows import add_json, row_output

SOURCE = Path(__file__).resolve().parents[1] / "src" / "evalmark"
TINY = 40
HOLDERS = ("case", "trial", "cases", "result", "results", "trials")
"""Fields of values that may contain a case."""
DEPTH, ITEMS = 3, 3
"""How deep values are searched, and the first items of each list, tuple and dictionary."""
METAPHORS = ("desk", "hand", "sitting", "book", "door", "doorway", "knock", "errand")
PROMPT = """---
name: Reply
inputs: {question: {type: string}}
---
user:
{{question}}
"""
SUITE = """
datasets: cases.jsonl
target: {prompt: reply.prompty, models: [openai/a]}
metrics: [{contains: {any: [ok]}}]
"""
CASES = '{"id": "one", "input": {"question": "Is it ok?"}}\n'

Graph = dict[str, set[str]]


# The source


def trees(folder: Path = SOURCE) -> dict[str, ast.Module]:
    """The modules of the package by name."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return found


def imports(modules: dict[str, ast.Module], *, types: bool) -> Graph:
    """Which module imports which, inside functions too, and with `types` what only type checkers see.

    A name given to `need` or `import_module` counts; those that a package loads at first use do with `types` only.

    >>> imports({"a.__init__": ast.parse("from .b import c"), "a.b": ast.parse("import a")}, types=True)
    {'a': {'a.b'}, 'a.b': {'a'}}
    """
    known = {name.removesuffix(".__init__") for name in modules}
    graph: Graph = {}
    for name, tree in modules.items():
        package = name.rpartition(".")[0]
        wanted = {target for node in _nodes(tree, types) for target in _targets(node, package, known)}
        graph[name.removesuffix(".__init__")] = (wanted & known) - {name.removesuffix(".__init__")}
    return graph


def _nodes(node: ast.AST, types: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    match node:
        case ast.Call(func=ast.Name(id="need" | "import_module"), args=[ast.Constant(value=str(name)), *_]):
            yield ast.Import([ast.alias(name)])
    hidden = node.body if not types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) else ()
    for child in ast.iter_child_nodes(node):
        if child not in hidden:
            yield from _nodes(child, types)


def _targets(node: ast.Import | ast.ImportFrom, package: str, known: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of two or more that reach each other (Tarjan's strongly connected components).

    >>> cycles({"a": {"b"}, "b": {"a", "c"}, "c": set()})
    [['a', 'b']]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            group = sorted(stack[at:])
            del stack[at:]
            found.extend([group] if len(group) > 1 else [])

    sys.setrecursionlimit(10_000)
    for node in graph:
        if node not in index:
            visit(node)
    return sorted(found)


def between_packages(graph: Graph) -> Graph:
    """The same between the packages and modules directly below the root."""
    top = {name: ".".join(name.split(".")[:2]) for name in graph}
    found: Graph = defaultdict(set)
    for name, targets in graph.items():
        found[top[name]] |= {top[other] for other in targets} - {top[name]}
    return {name: found[name] for name in found if "." in name}


def words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


# The way of a case


class Trace:
    """Which files of the package are entered, as a profile function of all threads."""

    def __init__(self, binding: CodeType, case_type: type) -> None:
        self.binding, self.case_type = binding, case_type
        self.bound, self.binders = 0, Counter[str]()
        self.entered, self.holding, self.calls = Counter[str](), Counter[str](), 0
        self.started = False
        sys.addaudithook(self._opened)

    def _opened(self, event: str, args: tuple[object, ...]) -> None:
        if event == "open" and str(args[0]).endswith("cases.jsonl"):
            self.started = True

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if event == "call" and code is self.binding:
            self.bound += 1
            self.binders[_caller(frame)] += 1
        if not self.started or not code.co_filename.startswith(str(SOURCE)):
            return
        file = code.co_filename[len(str(SOURCE)) + 1 :]
        if event == "call":
            self.calls += 1
            self.entered[file] += 1
        elif any(self._holds_case(held) for held in (*frame.f_locals.values(), value)):
            self.holding[file] += 1

    def _holds_case(self, value: object, depth: int = 0) -> bool:
        if isinstance(value, self.case_type):
            return True
        if depth > DEPTH:
            return False
        parts: Iterable[object] = ()
        if isinstance(value, list | tuple):
            parts = value[:ITEMS]
        elif type(value) is dict:
            parts = [*value.values()][:ITEMS]
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name for field in dataclasses.fields(value)}
            parts = [getattr(value, name, None) for name in HOLDERS if name in fields]
        return any(self._holds_case(part, depth + 1) for part in parts)


def _caller(frame: FrameType) -> str:
    back = frame.f_back
    return f"{Path(back.f_code.co_filename).name}:{back.f_code.co_name}" if back else "?"


def way_of_a_case(binding: str, report: str) -> Trace:
    """What one case passes; ConfigError and the like end this program."""
    main = next(iter(entry_points(group="console_scripts", name="evalmark"))).load()
    case_type = import_module("evalmark").Case
    with server_at(None) as server, tempfile.TemporaryDirectory() as name:
        os.environ |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
        command(main, Path(name) / "first", report)
        module, _, function = binding.partition(":")
        trace = Trace(getattr(import_module(module), function).__code__, case_type)
        threading.setprofile(trace)
        sys.setprofile(trace)
        try:
            command(main, Path(name) / "second", report)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return trace


def command(main: Callable[[list[str]], None], folder: Path, report: str) -> None:
    """One run of the command line in a new folder."""
    folder.mkdir()
    for name, text in (("reply.prompty", PROMPT), ("suite.yaml", SUITE), ("cases.jsonl", CASES)):
        (folder / name).write_text(text, encoding="utf-8")
    output = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(["run", "suite.yaml", "-o", report])
        except SystemExit as left:
            if left.code:
                raise RuntimeError(f"the run ended with {left.code}:\n{output.getvalue()}") from None
    if not (folder / report).stat().st_size:
        raise RuntimeError("no report was written")


def packages(files: Iterable[str]) -> set[str]:
    return {file.split("/")[0] for file in files if "/" in file}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--binding",
        default="evalmark.scoring.binding.bound_scorer:as_scorer",
        help="module:function that binds a scorer",
    )
    parser.add_argument("--report", default="report.html", help="report.html (default), report.md, …")
    parser.add_argument("--words", nargs="*", default=METAPHORS, help="words that names should not be made of")
    parser.add_argument("--list", action="store_true", help="name what was counted as well")
    add_json(parser)
    args = parser.parse_args()
    modules = trees()
    files = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    nodes = [node for tree in modules.values() for node in ast.walk(tree)]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    named = [n.name for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
    odd = Counter(name for name in named if set(words_of(name)) & set(args.words))
    odd_files = [name for name in modules if set(words_of(name.replace(".", "_"))) & set(args.words)]
    twice = {name: number for name, number in classes.items() if number > 1}
    graph, real = imports(modules, types=True), imports(modules, types=False)
    tops = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
    trace = way_of_a_case(args.binding, args.report)
    inits = [path for path in files if path.name == "__init__.py"]
    with row_output(args.json) as add_row:
        add_row(what="source files", found=len(files), note=f"{len(inits)} are __init__.py")
        add_row(what="lines", found=sum(files.values()), note=f"{sum(files[path] for path in inits)} in __init__.py")
        tiny = [path for path, number in files.items() if number <= TINY]
        note = f"{len(set(tiny) & set(inits))} are __init__.py"
        add_row(what=f"files of at most {TINY} lines", found=len(tiny), note=note)
        add_row(what="packages at top level", found=len(tops), note=f"{len([*SOURCE.glob('*.py')])} modules")
        add_row(what="classes", found=classes.total())
        add_row(what="class names used more than once", found=len(twice))
        add_row(what="functions and classes named by a metaphor", found=odd.total(), note=f"{len(odd_files)} modules")
        for what, made in (("with TYPE_CHECKING", graph), ("without it", real)):
            for kind, groups in (("modules", cycles(made)), ("top packages", cycles(between_packages(made)))):
                add_row(
                    what=f"import cycles of {kind}, {what}",
                    found=len(groups),
                    note=f"{sum(map(len, groups))} in them",
                )
        add_row(what="files that are entered for one case", found=len(trace.entered), note=f"{trace.calls} calls")
        add_row(what="packages that are entered for one case", found=len(packages(trace.entered)))
        add_row(what="files that hold the case", found=len(trace.holding))
        add_row(what="packages that hold the case", found=len(packages(trace.holding)))
        add_row(what="scorers bound in the run of one scorer", found=trace.bound, note=str(dict(trace.binders)))
    if args.list:
        out = sys.stderr
        print("used twice:", *(f"{name} {number}" for name, number in sorted(twice.items())), sep="\n  ", file=out)
        print("metaphors:", *(f"{name} {number}" for name, number in sorted(odd.items())), sep="\n  ", file=out)
        print("cycles:", *(", ".join(group) for group in cycles(graph)), sep="\n  ", file=out)
        print("entered:", *sorted(trace.entered), sep="\n  ", file=out)
        print("files that hold the case:", *sorted(trace.holding), sep="\n  ", file=out)


if __name__ == "__main__":
    main()
