"""How many evals of an openai/evals registry keep their meaning when they are imported.

    python benchmarks/registry.py FOLDER [--reasons] [--json FILE]

FOLDER is `evals/registry` of a checkout with its samples (git lfs pull), or of the package `evals` on PyPI, whose wheel has them. Counted are
the evals of the basic and the model-graded classes. *Kept*: the suite has every sample, sends the model under test the same messages with
the same settings, and scores each output as the registry does. *Reworded*: the same, but the sentence that tells the judge how to reply
(`eval_type`) is in evalmark's words; question, data, choices, their scores and how a reply is read are the registry's. *Changed*: with another
difference that IMPORT.md states. Each suite is written and checked as `evalmark validate` does; one with a fault counts as left out.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from evalmark.cli.commands.file_checks import validate
from evalmark.core.errors import EvalmarkError
from evalmark.core.settings import Settings
from evalmark.interop.openai_evals.registry_importer import Registry, read_registry
from evalmark.interop.openai_evals.registry_suites import REWORDED, RegistryEval, suite_of
from evalmark.interop.shared.import_builder import ImportBuilder, suite_files

FOUND = ("kept", "reworded", "changed", "left out")
COUNTED = ("evals.elsuite.basic.", "evals.elsuite.modelgraded.")


def outcomes(registry: Registry) -> Iterator[tuple[RegistryEval, str, str]]:
    """Yield each eval that is counted, with its outcome and the reason."""
    for one in registry.evals.values():
        if not one.kind.startswith(COUNTED):
            continue
        file = registry.samples_of(one)
        if (why := registry.refusal(one, file)) is not None or file is None:
            yield one, "left out", str(why)
            continue
        try:
            yield one, *outcome(one, suite_of([registry.completed(one)], registry.rows(file)))
        except EvalmarkError as error:
            yield one, "left out", str(error)


def outcome(one: RegistryEval, builder: ImportBuilder) -> tuple[str, str]:
    """Return what became of an eval, after a check of its suite."""
    parts = {name: (result, why) for name, result, why in builder.parts}
    found, why = parts.pop(one.place)
    lost = [name for name, (result, _) in parts.items() if result == "left out"]
    if found == "left out" or lost:
        return "left out", why if found == "left out" else f"{len(lost)} samples: {parts[lost[0]][1]}"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in suite_files(builder).items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        faults = validate(Path(folder) / "suite.yaml", Settings())
    if faults:
        return "left out", f"validate: {faults[0]}".replace(folder, "")
    return "reworded" if why == f"RegistryClassify; {REWORDED}" else found, why


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reasons", action="store_true", help="list the evals that are not kept")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    notes = ImportBuilder()
    registry = read_registry(args.folder, notes)
    for name, _, why in notes.parts:
        print(f"{name}: {why}", file=sys.stderr)
    totals: dict[str, Counter[str]] = {}
    for one, found, why in outcomes(registry):
        kind = "model-graded" if ".modelgraded." in one.kind else one.kind.rpartition(":")[2]
        totals.setdefault(kind, Counter())[found] += 1
        if args.reasons and found != "kept":
            print(f"{found:9} {one.place.rpartition('/')[2]}: {why}"[:300])
    every = sum(totals.values(), Counter())
    print(f"{'class':16}{'evals':>7}" + "".join(f"{found:>10}" for found in FOUND))
    for kind, counts in [*sorted(totals.items()), ("all", every)]:
        print(f"{kind:16}{counts.total():7}" + "".join(f"{counts[found]:10}" for found in FOUND))
    meaning = every["kept"] + every["reworded"]
    print(f"keep their meaning: {meaning} of {every.total()}, {meaning / max(1, every.total()):.1%}")
    if args.json is not None:
        args.json.write_text(json.dumps({kind: dict(counts) for kind, counts in totals.items()}, indent=2))


if __name__ == "__main__":
    main()
