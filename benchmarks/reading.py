"""How fast and in how much memory datasets are read.

    python benchmarks/reading.py                     # 1 GB of JSON lines
    python benchmarks/reading.py --size 100 --format jsonl json csv yaml

Every file is written first (to a temporary folder, or to --folder), then read by a fresh process.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PASSAGE = "Spoon River is a town with a mill, a library and a court house; its bridge was built of stone. " * 4

CHILD = """
import resource, sys, time
from pathlib import Path
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import read_cases
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start, count, first = peak(), time.perf_counter(), 0, None
for row in read_cases(Path(sys.argv[1])):
    if first is None: first = time.perf_counter() - start
    assert not isinstance(row, BadRow), row
    count += 1
print(count, time.perf_counter() - start, first, before, peak())
"""


def rows(size: int) -> Iterator[dict[str, object]]:
    """About a kilobyte each, until they fill so many bytes."""
    number = written = 0
    while written < size:
        row = {
            "id": number,
            "question": f"Who built bridge {number}?",
            "reference": f"Builder {number}.",
            "contexts": [PASSAGE, PASSAGE],
        }
        written += len(json.dumps(row))
        number += 1
        yield row


def write(path: Path, kind: str, size: int) -> None:
    """A file of about so many bytes in one of the formats."""
    with path.open("w") as file:
        if kind == "csv":
            file.write("id,question,reference,contexts\n")
        if kind == "json":
            file.write("[\n")
        for number, row in enumerate(rows(size)):
            text = json.dumps(row)
            if kind == "csv":
                cell = json.dumps(row["contexts"]).replace('"', '""')
                text = f'{row["id"]},{row["question"]},{row["reference"]},"{cell}"'
            prefix = {"json": ",\n" if number else "", "yaml": "- "}.get(kind, "")
            file.write(prefix + text + ("" if kind == "json" else "\n"))
        if kind == "json":
            file.write("\n]\n")


def measure(path: Path) -> None:
    """Read a file in a fresh process and print what that took."""
    found = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=True)
    count, seconds, first, before, peak = map(float, found.stdout.split())
    megabytes = path.stat().st_size / 1e6
    print(
        f"{path.name:12} {megabytes:7,.0f} MB  {count:10,.0f} rows  {seconds:7.1f} s  {megabytes / seconds:6.0f} MB/s  "
        f"{seconds / count * 1e6:6.1f} µs/row  first after {first:.2f} s  peak {peak:4.0f} MB ({peak - before:+.0f} for reading)"
    )


def short_rows(folder: Path) -> None:
    """The cost of a row itself: 200,000 rows of three short fields."""
    path = folder / "short.jsonl"
    with path.open("w") as file:
        file.writelines(
            json.dumps({"id": n, "input": f"What is {n}?", "expected": str(n)}) + "\n" for n in range(200_000)
        )
    measure(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, help="megabytes of each file (default: 1000)")
    parser.add_argument("--format", nargs="+", choices=["jsonl", "json", "csv", "yaml"], default=["jsonl"])
    parser.add_argument("--folder", type=Path, help="where to write the files; kept there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = args.folder or Path(made)
        short_rows(folder)
        for kind in args.format:
            path = folder / f"rows.{kind}"
            start = time.perf_counter()
            write(path, kind, args.size * 1_000_000)
            print(f"({path.name} written in {time.perf_counter() - start:.0f} s)", file=sys.stderr)
            measure(path)
            if args.folder is None:
                path.unlink()


if __name__ == "__main__":
    main()
