"""Run the benchmarks, each in a process of its own with nothing beside it, and print their tables: `benchmarks/run --help`."""

import argparse
import json
import shlex
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import catalogue
import machine
from catalogue import HERE, Script
from rows import Row, markdown

PEERS = "peers"
ENOUGH = 4_000
"""Characters of what a script says that failed."""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__)
    parser.add_argument("groups", nargs="*", help="of those that --list names, or scripts (default: all but peers)")
    parser.add_argument("--list", action="store_true", help="the scripts, group by group, and nothing is run")
    parser.add_argument(
        "--short", action="store_true", help="few cases: proves that the scripts work, measures nothing"
    )
    parser.add_argument("--peers", action="store_true", help="other tools on the same work as well")
    parser.add_argument(
        "--peer-env",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="where a tool is installed, its environment or program",
    )
    parser.add_argument(
        "--sentence-transformers", metavar="PYTHON", help="an interpreter that has them, for embedding and rag"
    )
    parser.add_argument("--server", help="a server that speaks as benchmarks/mock_server.py does and runs already")
    return parser.parse_args()


def chosen(given: argparse.Namespace) -> list[Script]:
    """Those that were named, or all; peers only when asked for."""
    there = catalogue.scripts()
    names = {name for script in there for name in (script.group, script.name, script.path.stem)}
    if unknown := [name for name in given.groups if name not in names]:
        groups = ", ".join(dict.fromkeys(script.group for script in there))
        raise SystemExit(f"{unknown[0]!r} is no group of benchmarks. There are: {groups}.")
    peers = given.peers or bool(given.peer_env)
    if not given.groups:
        return [script for script in there if script.group != PEERS or peers]
    wanted = {*given.groups, *([PEERS] if peers else [])}
    return [script for script in there if wanted & {script.group, script.name, script.path.stem}]


def command(script: Script, given: argparse.Namespace) -> list[str]:
    """What a reader could type to run it alone."""
    words = ["python", f"benchmarks/{script.name}", *((script.short or ()) if given.short else ())]
    passed = {"--server": [given.server], "--sentence-transformers": [given.sentence_transformers]}
    passed["--peer-env"] = given.peer_env
    for option, values in passed.items():
        if f'"{option}"' in script.text:
            words += [word for value in values if value for word in (option, value)]
    return words


def run(script: Script, words: list[str]) -> tuple[list[Row], str, int]:
    """Rows where the script tells them, else what it printed; and its exit code."""
    told = ["--json"] if script.tells_rows else []
    call = [sys.executable, str(script.path), *words[2:], *told]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, said = process.communicate()
    if process.returncode:
        return [], (out + said)[-ENOUGH:], process.returncode
    if not told:
        return [], out, 0
    sys.stderr.write(said)
    return [Row(**json.loads(line)) for line in out.splitlines()], "", 0


def without_goals(rows: list[Row]) -> list[Row]:
    """Goals are those of the whole work."""
    return [replace(row, at_most=None, at_least=None) for row in rows]


def shown(rows: list[Row], text: str, code: int) -> str:
    if rows:
        return markdown(rows)
    failed = f"It failed with exit code {code}:\n\n" if code else ""
    return f"{failed}```text\n{text.rstrip()}\n```"


def keep(found: dict) -> Path:
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def listed() -> None:
    for script in catalogue.scripts():
        short = "" if script.short is not None else "  (no short form)"
        print(f"{script.group:16}{script.name}{short}")
    print(f"{'parts':16}{', '.join(catalogue.PARTS)}")


def measured(script: Script, given: argparse.Namespace) -> dict | None:
    """One section of the page, printed as soon as it is there; None where there is no short form and it is asked for."""
    if given.short and script.short is None:
        print(f"{script.name} has no short form and is left out.", file=sys.stderr)
        return None
    words = command(script, given)
    print(f"running {shlex.join(words)}", file=sys.stderr, flush=True)
    rows, text, code = run(script, words)
    print(
        f"\n### {script.path.stem}\n\n`{shlex.join(words)}`\n\n{shown(rows if not given.short else without_goals(rows), text, code)}",
        flush=True,
    )
    told = [asdict(row) | {"met": row.met} for row in rows]
    return {"command": shlex.join(words), "rows": told, "printed": text, "exit_code": code}


def main() -> int:
    given = parsed()
    if given.list:
        listed()
        return 0
    scripts = chosen(given)
    if find_spec("evalmark") is None:
        raise SystemExit("evalmark is not installed for this Python. Run it with the one that has it.")
    found = {"machine": machine.noted(HERE.parent), "short": given.short, "scripts": {}}
    print(machine.in_words(found["machine"]) + (" A short form: no figures to keep." if given.short else ""))
    for script in scripts:
        if section := measured(script, given):
            found["scripts"][script.name] = section
    print(f"kept in {keep(found).relative_to(HERE.parent)}", file=sys.stderr)
    return int(any(section["exit_code"] for section in found["scripts"].values()))
