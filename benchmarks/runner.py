"""Run the benchmarks one after the other, each in its own process, and print their tables: `benchmarks/run --help`."""

import argparse
import json
import shlex
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import catalogue
import machine
from catalogue import HERE, Script
from rows import Row, goals_table, markdown

PEERS = "peers"
ENOUGH = 4_000
"""Number of characters shown of the output of a failed script."""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__)
    parser.add_argument("groups", nargs="*", help="groups of --list, or scripts (default: all but peers)")
    parser.add_argument("--list", action="store_true", help="list the scripts by group and exit")
    parser.add_argument("--short", action="store_true", help="few cases: tests the scripts, measures nothing")
    parser.add_argument("--peers", action="store_true", help="also run other tools on the same work")
    parser.add_argument(
        "--peer-env",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="the environment or program of an installed tool",
    )
    parser.add_argument(
        "--sentence-transformers",
        metavar="PYTHON",
        help="an interpreter with sentence-transformers, for embedding and rag",
    )
    parser.add_argument("--server", help="a running server with the API of benchmarks/mock_server.py")
    return parser.parse_args()


def chosen(args: argparse.Namespace) -> list[Script]:
    """Return the named benchmarks, or all; peers only on request."""
    known = catalogue.scripts()
    names = {name for script in known for name in (script.group, script.name, script.path.stem)}
    if unknown := [name for name in args.groups if name not in names]:
        groups = ", ".join(dict.fromkeys(script.group for script in known))
        raise SystemExit(f"{unknown[0]!r} is not a group of benchmarks. The groups are: {groups}.")
    peers = args.peers or bool(args.peer_env)
    if not args.groups:
        return [script for script in known if script.group != PEERS or peers]
    requested = {*args.groups, *([PEERS] if peers else [])}
    return [script for script in known if requested & {script.group, script.name, script.path.stem}]


def command(script: Script, args: argparse.Namespace) -> list[str]:
    """Return the command line of one benchmark."""
    words = ["python", f"benchmarks/{script.name}", *((script.short or ()) if args.short else ())]
    passed = {"--server": [args.server], "--sentence-transformers": [args.sentence_transformers]}
    passed["--peer-env"] = args.peer_env
    for option, values in passed.items():
        if f'"{option}"' in script.text:
            words += [word for value in values if value for word in (option, value)]
    return words


def run(script: Script, words: list[str]) -> tuple[list[Row], str, int]:
    """Return the rows of a script, or its output if it has no rows, and its exit code."""
    json_flag = ["--json"] if script.writes_rows else []
    call = [sys.executable, str(script.path), *words[2:], *json_flag]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, errors = process.communicate()
    if process.returncode:
        return [], (out + errors)[-ENOUGH:], process.returncode
    if not json_flag:
        return [], out, 0
    sys.stderr.write(errors)
    return [Row(**json.loads(line)) for line in out.splitlines()], "", 0


def without_goals(rows: list[Row]) -> list[Row]:
    """Remove the goals, which hold for full runs."""
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
    for group, scripts in groupby(
        sorted(catalogue.scripts(), key=lambda script: script.group), lambda script: script.group
    ):
        print(f"\n{group}")
        for script in scripts:
            short = "" if script.short is not None else " (no short form)"
            print(f"  {script.name:24}{script.first_sentence}{short}")
    print(f"\nmodules that they share\n  {', '.join(catalogue.PARTS)}")


def goals(found: dict) -> str:
    """Return the table of all rows with a bar; a script that failed has a line below it."""
    rows = {
        name: [Row(**{key: value for key, value in row.items() if key != "met"}) for row in section["rows"]]
        for name, section in found["scripts"].items()
    }
    failed = [name for name, section in found["scripts"].items() if section["exit_code"]]
    table = goals_table(rows, judged=not found["short"])
    return table + (f"\n\nNot measured, since they failed: {', '.join(failed)}." if failed else "")


def measured(script: Script, args: argparse.Namespace) -> dict | None:
    """Run one benchmark and print its section; None if --short is given and it has no short form."""
    if args.short and script.short is None:
        print(f"{script.name} has no short form and is left out.", file=sys.stderr)
        return None
    words = command(script, args)
    print(f"running {shlex.join(words)}", file=sys.stderr, flush=True)
    rows, text, code = run(script, words)
    print(
        f"\n### {script.path.stem}\n\n`{shlex.join(words)}`\n\n{shown(rows if not args.short else without_goals(rows), text, code)}",
        flush=True,
    )
    rows_data = [asdict(row) | {"met": row.met} for row in rows]
    return {"command": shlex.join(words), "rows": rows_data, "printed": text, "exit_code": code}


def main() -> int:
    args = parsed()
    if args.list:
        listed()
        return 0
    scripts = chosen(args)
    if find_spec("evalmark") is None:
        raise SystemExit("evalmark is not installed for this Python. Run it with the one that has it.")
    found = {"machine": machine.noted(HERE.parent), "short": args.short, "scripts": {}}
    print(machine.in_words(found["machine"]) + (" A short form: no figures to keep." if args.short else ""))
    for script in scripts:
        if section := measured(script, args):
            found["scripts"][script.name] = section
    print(f"\n## All bars\n\n{goals(found)}", flush=True)
    print(f"stored in {keep(found).relative_to(HERE.parent)}", file=sys.stderr)
    return int(any(section["exit_code"] for section in found["scripts"].values()))
