"""How much disk a new installation takes: every file that evalmark and its dependencies bring, by package.

    python benchmarks/install_size.py [--top 12] [--extras postgres,text]

Makes an environment in a temporary folder and installs this checkout, from the index that pip is set to. Not counted are pip
itself and what else an empty environment holds.
"""

import argparse
import importlib.metadata
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from pathlib import Path

from rows import add_json, row_output

ROOT = Path(__file__).parent.parent
BAR = 350
"""MB that an installation with the local model may take."""


def sizes(site: Path) -> tuple[Counter[str], Counter[str]]:
    """The bytes of each installed distribution, and of its compiled .pyc files among them."""
    total, compiled = Counter[str](), Counter[str]()
    for distribution in importlib.metadata.distributions(path=[str(site)]):
        for file in distribution.files or ():
            path = Path(str(file.locate()))
            if path.is_file():
                total[distribution.name] += path.stat().st_size
                if path.suffix == ".pyc":
                    compiled[distribution.name] += path.stat().st_size
    return total, compiled


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--top", type=int, default=12, help="show this many of the largest packages [12]")
    parser.add_argument("--extras", default="", help="extras to install too, such as postgres,text")
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evalmark-size-") as folder, row_output(args.json) as add_row:
        venv.create(folder, with_pip=False)
        (site,) = Path(folder).rglob("site-packages")
        wanted = f"{ROOT}[{args.extras}]" if args.extras else str(ROOT)
        command = [sys.executable, "-m", "pip", "--python", folder, "install", "--quiet", wanted]
        subprocess.run(command, check=True)
        total, compiled = sizes(site)
        all_of_it, bytecode = sum(total.values()) / 1e6, sum(compiled.values()) / 1e6
        add_row(
            what="an installation, as pip makes it",
            found=all_of_it,
            unit="MB",
            at_most=BAR,
            note=f"{len(total)} packages",
        )
        add_row(
            what="the same without compiled .pyc files",
            found=all_of_it - bytecode,
            unit="MB",
            at_most=BAR,
            note="uv, uvx and `pip install --no-compile` write none; Python adds those of modules that are imported",
        )
        for name, size in total.most_common(args.top):
            add_row(what=name, found=size / 1e6, unit="MB", note=f"{compiled[name] / 1e6:.1f} MB of .pyc")


if __name__ == "__main__":
    main()
