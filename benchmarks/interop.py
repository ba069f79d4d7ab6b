"""How much of other tools' public files `evalmark import` brings along, and whether what it writes runs.

    python benchmarks/interop.py --repositories FOLDER [--format promptfoo] [--set fresh] [--reasons] [--write]

`interop.tsv` lists the files: format, set (`tuned`: looked at while the importers were written; `fresh`: drawn afterwards), repository, commit
and path, with the results of the last run. FOLDER holds a clone of each repository, bare or not, named OWNER+NAME or OWNER/NAME; the files
are not kept here. Each file is imported from a copy of its repository with `-o` and `--partial`, its suites are validated, and
run against a scripted server (`interop_server.py`), to which every model and HTTP address in the suites is directed; no code of the files
runs, since --code is not given. A file of which no provider is known is imported again with `--map-provider '*=openai/mapped'`. Verdict: the run ends with exit code 0 or 1, or 3 if it has no metric because the source has none.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from interop_server import scripted_server
from rows import add_json, row_output

MANIFEST = Path(__file__).with_name("interop.tsv")
KEYS = ("format", "set", "repository", "commit", "path")
RESULTS = (
    "import",
    "suites",
    "validate",
    "run",
    "kept",
    "changed",
    "left_out",
    "checks_kept",
    "checks_changed",
    "checks_left_out",
    "mapped",
)
GOALS = {("promptfoo", "validate"): 90, ("promptfoo", "run"): 75, ("promptfoo", "checks"): 90}
"""Percent of the files, and of their assertions."""
CHECK = re.compile(r"\((?:not-)?[a-z][\w:-]*\)$")
"""The end of the name of a part that is an assertion of promptfoo, or a grader of OpenAI."""
KEY = "sk-scripted-server-0000"
MOST_BYTES = 4 << 20
"""Larger files of a repository are left out."""
NOTHING = r"contains neither tests nor results|only a plan for red teaming"
"""The message for a file with nothing that could be imported, such as a plan for red teaming."""
COUNT = """
import json, sys, importlib
from pathlib import Path
from evalmark.cli.commands.import_files import IMPORTERS
module, _, function = IMPORTERS[sys.argv[1]].function.partition(":")
read = getattr(importlib.import_module(f"evalmark.interop.{module}"), function)
print(json.dumps([[p.outcome, name] for p in read(Path(sys.argv[2])).parts for name in (p.name, *p.others)]))
"""


def listed(args: argparse.Namespace) -> list[dict[str, str]]:
    with MANIFEST.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [r for r in rows if args.format in ("", r["format"]) and args.set in ("", r["set"])]


def clone_of(repositories: Path, name: str) -> Path | None:
    """The git directory of a repository among the clones."""
    owner, _, project = name.partition("/")
    places = (f"{owner}+{project}", f"{owner}+{project}.git", f"{owner}/{project}", f"{owner}/{project}.git")
    for place in (repositories / place for place in places):
        for folder in (place, place / ".git", place / "repo"):
            if (folder / "HEAD").exists():
                return folder
    return None


def unpack(repositories: Path, row: dict[str, str], to: Path) -> bool:
    """Unpack the repository at its commit, once; False if there is no clone with that commit."""
    if to.exists():
        return True
    if (git := clone_of(repositories, row["repository"])) is None:
        return False
    tree = subprocess.run(
        ["git", "-C", git, "ls-tree", "-r", "-z", row["commit"]],  # noqa: S607
        capture_output=True,
        text=True,
    )
    if tree.returncode:
        return False
    (to / ".git").mkdir(parents=True)  # the root of a project, under which a file may name others
    entries = [entry.partition("\t") for entry in tree.stdout.split("\0") if entry.startswith("100")]
    with subprocess.Popen(
        ["git", "-C", git, "cat-file", "--batch"],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as blobs:
        assert blobs.stdin is not None
        assert blobs.stdout is not None
        for meta, _, name in entries:
            blobs.stdin.write(meta.split()[2].encode() + b"\n")
            blobs.stdin.flush()
            head = blobs.stdout.readline().split()
            if head[-1] == b"missing":  # a clone may lack its largest files
                continue
            content = blobs.stdout.read(int(head[-1]))
            blobs.stdout.read(1)
            if len(content) <= MOST_BYTES and "node_modules/" not in name:
                (to / name).parent.mkdir(parents=True, exist_ok=True)
                (to / name).write_bytes(content)
    return True


class Trial:
    """One file: import, validate, run."""

    def __init__(self, row: dict[str, str], source: Path, folder: Path, server: str) -> None:
        self.row, self.source, self.folder = row, source, folder
        self.server = server
        self.reason = ""
        self.mapped: tuple[str, ...] = ()
        self.env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")} | {
            "OPENAI_BASE_URL": f"{server}/v1",
            "ANTHROPIC_BASE_URL": server,
            "GOOGLE_GEMINI_BASE_URL": server,
            "OLLAMA_HOST": server,
            "AZURE_OPENAI_ENDPOINT": server,
            "HOME": str(folder),
            "NO_COLOR": "1",
            **{
                f"{name}_API_KEY": KEY
                for name in ("OPENAI", "ANTHROPIC", "GEMINI", "AZURE_OPENAI", "OPENAI_COMPATIBLE")
            },
        }

    def evalmark(self, *words: object, seconds: int = 180) -> int:
        command = [sys.executable, "-m", "evalmark", *map(str, words)]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=self.env,
                capture_output=True,
                text=True,
                timeout=seconds,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            self.reason = f"{words[0]} took more than {seconds} s"
            return -1
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            self.reason = f"{words[0]}: {' | '.join(lines[-2:])}".replace(str(self.source.parent), "").replace(
                str(self.folder), ""
            )
        return done.returncode

    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        suite = self.folder / "suite"
        output = ["-o", suite, "--partial"] if self.row["format"] not in RESULTS_ONLY else []
        found["import"] = self.evalmark("import", self.row["format"], self.source, *output)
        if found["import"] and re.search(NOTHING, self.reason):
            return {"import": "nothing"}
        if found["import"] and "--map-provider" in self.reason:  # no provider of the file has a name here
            self.mapped = ("--map-provider", "*=openai/mapped")
            found["import"] = self.evalmark("import", self.row["format"], self.source, *output, *self.mapped)
        found["mapped"] = len(self.mapped) // 2
        found |= self.parts()
        suites = sorted(path for path in suite.rglob("suite*.yaml")) if suite.exists() else []
        found["suites"] = len(suites)
        if not suites:
            return found
        found["validate"] = self.evalmark("validate", *suites)
        if found["validate"]:
            return found
        is_scored = any(re.search(r"^metrics:", path.read_text(encoding="utf-8"), re.MULTILINE) for path in suites)
        for path in suites:
            text = directed(path.read_text(encoding="utf-8"), self.server)
            self.env |= dict.fromkeys(re.findall(r"\$\{(\w+)\}", text), KEY)
            path.write_text(text, encoding="utf-8")
        code = self.evalmark("run", *suites, "--judge", "openai/judge", "--embeddings", "openai/e", "-n", "5")
        found["run"] = 0 if code in (0, 1) or (code == 3 and not is_scored) else code
        return found

    def parts(self) -> dict[str, Any]:
        """The number of parts with each outcome, of all and of the assertions."""
        command = [sys.executable, "-c", COUNT, self.row["format"], str(self.source)]
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, errors="replace")
        try:
            parts = json.loads(done.stdout)
        except ValueError:
            return {}
        found = Counter(outcome.replace(" ", "_") for outcome, _ in parts)
        checks = Counter(outcome.replace(" ", "_") for outcome, name in parts if CHECK.search(name))
        return {o: found[o] for o in ("kept", "changed", "left_out")} | {
            f"checks_{o}": checks[o] for o in ("kept", "changed", "left_out")
        }


RESULTS_ONLY: tuple[str, ...] = ("lm-eval", "jsonl")


def directed(text: str, server: str) -> str:
    """A suite whose models and services are at the scripted server."""
    known = ("openai", "anthropic", "gemini", "google", "ollama", "azure", "openai_compatible")
    lines = []
    for line in text.splitlines(keepends=True):
        match = re.match(r"(\s*(?:- |models?: |judge: )\s*)['\"]?([a-z][a-z0-9_-]*)/([^\s'\"]+)", line)
        if (
            match
            and match[2] not in known
            and "." not in match[2]
            and not match[3].endswith((".yaml", ".yml", ".jsonl"))
        ):
            line = f"{match[1]}openai_compatible:{server}/v1/{match[3].replace(':', '-')}\n"
        lines.append(line)
    text = re.sub(r"openai_compatible:https?://[^/\s]+", f"openai_compatible:{server}", "".join(lines))
    text = re.sub(r"(\n\s+output: )['\"]?\$\.[^\n]*", r"\1$.output", text)  # where the server's answer is
    return re.sub(r"(url: *['\"]?)https?://[^\s/'\"]+", rf"\g<1>{server}", text)


def tried(
    rows: list[dict[str, str]], args: argparse.Namespace
) -> Iterator[tuple[dict[str, str], Trial | None, dict[str, Any]]]:
    with tempfile.TemporaryDirectory(prefix="evalmark-interop-") as name, scripted_server() as server:
        folder = Path(name)
        trials: list[Trial | None] = []
        for number, row in enumerate(rows):
            place = folder / "repositories" / row["repository"].replace("/", "+") / row["commit"][:12]
            if not unpack(args.repositories, row, place):
                trials.append(None)
                continue
            own = folder / str(number)
            own.mkdir()
            trials.append(Trial(row, place / row["path"], own, server))
        with ThreadPoolExecutor(args.workers) as pool:
            for row, trial, found in zip(
                rows, trials, pool.map(lambda trial: trial.results() if trial else {}, trials), strict=True
            ):
                yield row, trial, found


def summarize(found: list[tuple[dict[str, str], dict[str, Any]]], add_row: Any) -> None:
    for group in dict.fromkeys((row["format"], row["set"]) for row, _ in found):
        files = [result for row, result in found if (row["format"], row["set"]) == group]
        results = [result for result in files if result["import"] != "nothing"]
        if not results:
            continue
        name = f"{group[0]}, {group[1]} files"
        broken = sum(r["import"] == 0 and r.get("validate", 0) != 0 for r in results)
        add_row(
            what=f"{name}: imported",
            found=share(results, "import"),
            unit="%",
            note=f"of {len(results)} files, {sum(bool(r.get('mapped')) for r in results)} of them with a model in place of "
            f"the providers; {len(files) - len(results)} more have no tests",
        )
        if any(r.get("suites") for r in results):
            for key, word in (("validate", "give suites that validate"), ("run", "reach a verdict")):
                add_row(
                    what=f"{name}: {word}", found=share(results, key), unit="%", at_least=GOALS.get((group[0], key))
                )
            add_row(
                what=f"{name}: exit code 0 with a suite that validate refuses", found=broken, unit="files", at_most=0
            )
        sums = Counter[str]()
        for result in results:
            sums.update({key: result.get(key) or 0 for key in RESULTS[4:-1]})
        for word, prefix in (("parts", ""), ("assertions", "checks_")):
            total = sum(sums[f"{prefix}{outcome}"] for outcome in ("kept", "changed", "left_out"))
            if total:
                exact, changed = sums[f"{prefix}kept"] / total, sums[f"{prefix}changed"] / total
                goal = GOALS.get((group[0], "checks")) if prefix else None
                note = (
                    f"of {total:,}; {100 * exact:.1f} % as they are, {100 * changed:.1f} % changed as the report says"
                )
                add_row(
                    what=f"{name}: {word} brought along",
                    found=100 * (exact + changed),
                    unit="%",
                    at_least=goal,
                    note=note,
                )


def share(results: list[dict[str, Any]], key: str) -> float:
    return 100 * sum(result.get(key) == 0 for result in results) / len(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repositories", type=Path, required=True, help="the folder of clones")
    parser.add_argument("--format", default="", help="only this format")
    parser.add_argument("--set", default="", choices=("", "tuned", "fresh"), help="only these files")
    parser.add_argument("--only", default="", help="only files whose repository and path contain this")
    parser.add_argument("--reasons", action="store_true", help="print a line for each file")
    parser.add_argument("--write", action="store_true", help="write the results into the manifest")
    parser.add_argument("--workers", type=int, default=2, help="files at a time [2]")
    add_json(parser)
    args = parser.parse_args()
    rows = [row for row in listed(args) if args.only in f"{row['repository']}/{row['path']}"]
    found = []
    for row, trial, result in tried(rows, args):
        if trial is None:
            print(f"no clone of {row['repository']} with {row['commit'][:12]}", file=sys.stderr)
            continue
        found.append((row, result))
        if args.reasons:
            marks = "".join(
                mark if result.get(key) == 0 else "-"
                for key, mark in (("import", "I"), ("validate", "V"), ("run", "R"))
            )
            print(f"{marks} {row['repository']} {row['path']}: {trial.reason[:300]}", flush=True)
    with row_output(args.json) as add_row:
        if found:
            summarize(found, add_row)
    if args.write:
        write({tuple(row[key] for key in KEYS): result for row, result in found})


def write(results: dict[tuple[str, ...], dict[str, Any]]) -> None:
    with MANIFEST.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        if (result := results.get(tuple(row[key] for key in KEYS))) is not None:
            row.update({key: str(result.get(key, "")) for key in RESULTS})
    with MANIFEST.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, (*KEYS, *RESULTS), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
