"""How many small mistakes in the statistics and the wrappers of model calls the tests find, before a change and after it.

`sample` draws mutants of today's code: a comparison flipped, a constant moved by one, a condition negated and so on. `run`
puts each into the code as it is now, wherever it was moved and however its names changed since, and runs the tests that
reach it until one fails. `compare` shows what the tests of one state found and those of another did not.

Only tests that the README's command runs are counted: marks that pyproject.toml deselects stay deselected. Tests see a
mutant only in their own process, so what a test starts as a program of its own finds nothing. Linux and macOS only.

Run: python benchmarks/mutants.py sample -o mutants.json --seed 17
     python benchmarks/mutants.py run mutants.json -o before.json
     python benchmarks/mutants.py compare before.json after.json
"""

import argparse
import ast
import functools
import json
import os
import random
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import mutation
from mutant_tests import ROOT, Line, Send, Session, Trial, at_import, forked
from mutation import Found, Place

GROUPS = {
    "stats": ("stats/agreement", "stats/calibration", "stats/comparison", "stats/inference", "stats/summary"),
    "calls": ("models/middleware",),
}
"""Packages of which mutants are drawn, as they are called where they are drawn."""
TESTS = {
    "stats": (*GROUPS["stats"], "reports/terminal", "reports/text"),
    "calls": (*GROUPS["calls"], "models/providers", "runs/planning", "runs/engine"),
}
"""Folders of the tests that are run for them."""


def git(*words: str) -> str:
    said = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    return said.stdout


# What is drawn, and where it is now


def sample(args: argparse.Namespace) -> None:
    drawn = []
    for group, packages in GROUPS.items():
        for path in sorted(path for name in packages for path in (ROOT / "src/evalmark" / name).glob("*.py")):
            file = str(path.relative_to(ROOT))
            for unit in mutation.units(file, path.read_text("utf-8")) if path.name != "__init__.py" else ():
                for index, place in enumerate(unit.places):
                    drawn.append({"group": group, "file": file, "unit": unit.name, "index": index, **_shown(place)})
    chosen = random.Random(args.seed).sample(range(len(drawn)), args.size)  # noqa: S311
    mutants = [{"id": number, **drawn[at]} for number, at in enumerate(sorted(chosen))]
    head = {"commit": git("rev-parse", "HEAD").strip(), "seed": args.seed, "drawn_from": len(drawn)}
    lines = ",\n".join(json.dumps(mutant) for mutant in mutants)
    args.output.write_text(f'{json.dumps(head)[:-1]}, "mutants": [\n{lines}\n]}}\n', "utf-8")
    print(f"{len(mutants)} of {len(drawn)} mutants:", dict(Counter(mutant["operator"] for mutant in mutants)))


def _shown(place: Place) -> dict[str, Any]:
    code = ast.unparse(place.node).partition("\n")[0]
    return {"operator": place.operator, "change": place.change, "line": place.node.lineno, "code": code[:80]}


def moved_files(commit: str) -> dict[str, str]:
    """Where each file of an older commit is now, commit by commit, as far as git sees that it was moved."""
    start = git("merge-base", commit, "HEAD").strip()
    moves = ("-l0", "-M40%", "--diff-filter=R", "--name-status")
    seen = git("log", "--first-parent", "-m", "--reverse", *moves, "--format=", f"{start}..HEAD")
    seen += git("diff", *moves, "HEAD")
    now: dict[str, str] = {}
    for _, old, new in (line.split("\t") for line in seen.splitlines() if line):
        first = next((origin for origin, place in now.items() if place == old), old)
        now[first] = new
    for _, old, new in (line.split("\t") for line in git("diff", *moves, start).splitlines()):
        if not (ROOT / now.get(old, old)).exists():
            now[old] = new
    return now


def located(given: dict[str, Any], moved: dict[str, str]) -> dict[int, Found | str]:
    """Each mutant in the code of today, or why it is not there."""
    sources = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    finder = mutation.Finder(sources, moved)
    found: dict[int, Found | str] = {}
    for mutant in given["mutants"]:
        old = _old_units(given["commit"], mutant["file"])
        unit = next(
            unit
            for unit in old
            if unit.name == mutant["unit"]
            and len(unit.places) > mutant["index"]
            and _shown(unit.places[mutant["index"]]).items() <= mutant.items()
        )
        found[mutant["id"]] = finder.find(old, unit, unit.places[mutant["index"]])
    return found


@functools.cache
def _old_units(commit: str, file: str) -> list[mutation.Unit]:
    return mutation.units(file, git("show", f"{commit}:{file}"))


def test_files(group: str, commit: str, moved: dict[str, str]) -> dict[str, str]:
    """The files whose tests are run for a group, as they are called now, and the package that each belonged to.

    A folder of today counts whole where most of its tests come from the group's folders.
    """
    folders = [f"tests/{name}" for name in TESTS[group]] + [f"src/evalmark/{name}" for name in GROUPS[group]]
    listed = git("ls-tree", "-r", "--name-only", commit, *(f"{folder}/" for folder in folders)).splitlines()
    old = [file for file in listed if file.startswith("src") or Path(file).name.startswith("test_")]
    found = {moved.get(file, file): file.split("/")[-2] for file in old if (ROOT / moved.get(file, file)).exists()}
    for folder in {Path(file).parent for file in found if file.startswith("tests")}:
        there = [str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("test_*.py")]
        known = [file for file in there if file in found]
        if len(known) * 2 >= len(there):
            found |= {file: found[known[0]] for file in there if file not in found}
    if lost := [file for file in old if not (ROOT / moved.get(file, file)).exists()]:
        print(f"{group}: {len(lost)} files of tests or code are gone or were split: {', '.join(lost)}", flush=True)
    paths = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]["testpaths"]
    return {file: package for file, package in found.items() if file.startswith(tuple(f"{path}/" for path in paths))}


# The run, and what two runs say


class Results:
    """What came of each mutant, printed as soon as it is known."""

    def __init__(self, places: dict[int, Found | str]) -> None:
        self.where = {number: place for number, place in places.items() if isinstance(place, Found)}
        self.lines: dict[int, Line] = {}
        for number, place in places.items():
            if isinstance(place, str):
                self.lines[number] = {"outcome": "not found again", "why": place}
                print(f"{number:4} is not found again: {place}", flush=True)

    def add(self, number: int, line: Line) -> None:
        place = self.where[number]
        self.lines[number] = {**line, "at": f"{place.file}:{place.unit}", "how": place.how}
        print(f"{number:4} {line['outcome']:9} {line['seconds']:6.1f} s  {place.file}:{place.unit}", flush=True)

    @property
    def counted(self) -> dict[str, int]:
        return dict(Counter(line["outcome"] for line in self.lines.values()))


def run(args: argparse.Namespace) -> None:
    given = json.loads(args.mutants.read_text("utf-8"))
    mutants = {mutant["id"]: mutant for mutant in given["mutants"] if not args.only or mutant["id"] in args.only}
    moved = moved_files(given["commit"])
    results = Results({n: place for n, place in located(given, moved).items() if n in mutants})
    files = {group: test_files(group, given["commit"], moved) for group in GROUPS}
    how = Counter(place.how for place in results.where.values())
    print(f"{len(results.where)} of {len(mutants)} mutants are in the code of today: {dict(how)}", flush=True)
    if args.locate:
        return
    options = [] if args.markers is None else ["-m", args.markers]
    packages = {number: mutant["file"].split("/")[-2] for number, mutant in mutants.items()}
    head = {"commit": git("rev-parse", "HEAD").strip(), "markers": args.markers}
    memory = Path("/dev/shm")  # noqa: S108  where Linux has it
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        head |= in_functions(results, files, packages, folder, options)
        for number in [number for number in results.where if number not in results.lines]:
            place, there = results.where[number], files[mutants[number]["group"]]
            results.add(number, at_import(place, packages[number], there, folder, options))
    kept = {**head, "counted": results.counted, "results": {n: results.lines[n] for n in sorted(results.lines)}}
    args.output.write_text(json.dumps(kept, indent=1), "utf-8")
    print(results.counted)


def in_functions(
    results: Results, files: dict[str, dict[str, str]], packages: dict[int, str], folder: str, options: list[str]
) -> Line:
    """Try the mutants of functions in one process that collects all tests; those of modules as such are left."""
    every = {file: package for found in files.values() for file, package in found.items()}

    def work(send: Send) -> None:
        session = Session(every, Trial(results.where, packages, send))
        if code := session.collect(folder, options):
            raise RuntimeError(f"pytest ended with {code}: {session.error}")

    head: Line = {}
    for line in forked(work, lambda _: None):
        if "died" in line:
            raise SystemExit(f"the run came to an end: {line['died']}")
        if "id" not in line:
            head |= line
            print(json.dumps(line), flush=True)
        elif line["outcome"] != "at import":
            results.add(line.pop("id"), line)
    return head


def compare(args: argparse.Namespace) -> int:
    """What was found before and is no more; the exit code is 1 where there is any."""
    before, after = (json.loads(path.read_text("utf-8")) for path in (args.before, args.after))
    print("before:", before["counted"], "\nafter: ", after["counted"])
    sorts: dict[str, list[str]] = {"found before, not now": [], "found now, not before": [], "not found again": []}
    for number, old in before["results"].items():
        new = after["results"].get(number, {"outcome": "not found again", "why": "it was not run"})
        was, is_now = (one["outcome"] in ("killed", "timeout") for one in (old, new))
        if new["outcome"] == "not found again":
            sorts["not found again"].append(f"{number}: {old.get('at')}, {old['outcome']} before; {new['why']}")
        elif was != is_now:
            by = f"was {old['outcome']} by {old['by']}" if was else f"is {new['outcome']} by {new['by']}"
            sorts["found before, not now" if was else "found now, not before"].append(f"{number}: {new['at']}, {by}")
    for name, lines in sorts.items():
        print(f"{name}: {len(lines)}", *lines, sep="\n  ")
    return 1 if sorts["found before, not now"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(required=True, metavar="sample|run|compare")
    drawing = ways.add_parser("sample", help="draw mutants of the code as it is")
    drawing.add_argument("-o", "--output", type=Path, required=True)
    drawing.add_argument("--seed", type=int, default=17)
    drawing.add_argument("--size", type=int, default=200)
    drawing.set_defaults(way=sample)
    running = ways.add_parser("run", help="put each into the code of today and run the tests that reach it")
    running.add_argument("mutants", type=Path)
    running.add_argument("-o", "--output", type=Path, required=True)
    running.add_argument("--only", type=int, nargs="+", metavar="ID")
    running.add_argument("--locate", action="store_true", help="say which are still there, and run nothing")
    which = running.add_mutually_exclusive_group()
    which.add_argument("--tests-of-readme", dest="markers", action="store_const", const=None, help="the default")
    which.add_argument("--markers", help="other tests than those: an expression as pytest's -m takes it, '' for all")
    running.set_defaults(way=run)
    comparing = ways.add_parser("compare", help="two results of `run`, of the same mutants")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.set_defaults(way=compare)
    args = parser.parse_args()
    return args.way(args) or 0


if __name__ == "__main__":
    sys.exit(main())
