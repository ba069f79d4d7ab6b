"""Draws the pictures of a terminal in README and docs from what the commands really print.

Run: python docs/pictures/draw.py
"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from shown import missing_words, words_of_svg

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WIDTH = 100
PICTURES = {
    "rag.svg": "evalmark rag --dataset examples/rag/questions.json --model all-MiniLM-L6-v2 --worst 2",
}
COMPARED = "evalmark compare last last~1 --pairs -n 1"
"""Drawn from examples/library, before and after its prompt is changed."""
CALM = TerminalTheme(
    background=(250, 250, 248),
    foreground=(38, 42, 46),
    normal=[
        (38, 42, 46),
        (186, 46, 46),
        (34, 120, 66),
        (150, 98, 0),
        (36, 86, 160),
        (132, 52, 140),
        (0, 112, 122),
        (110, 114, 118),
    ],
)
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def printed(command: str, store: Path, folder: Path = ROOT) -> str:
    """Return what a command prints to a terminal of `WIDTH` columns, colours included.

    Raises:
        SystemExit: the command ends with another exit code than 0 (the gate holds) or 1 (it fails).
    """
    known = os.environ | {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "EVALMARK_STORE": str(store)}
    words = [sys.executable, "-m", *command.split()]
    reading, writing = pty.openpty()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(words, cwd=folder, env=known, stdout=writing, stderr=errors) as process,
    ):
        os.close(writing)
        chunks = []
        while chunk := _read(reading):
            chunks.append(chunk)
        if process.wait() not in (0, 1):
            errors.seek(0)
            raise SystemExit(f"{command}: exit code {process.returncode}: {errors.read().decode()}")
    os.close(reading)
    return b"".join(chunks).decode("utf-8").replace("\r\n", "\n").replace(str(store), ".evalmark/evalmark.db")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other side has hung up
        return b""


def draw(command: str, text: str) -> str:
    """The text as a picture that loads no font from anywhere."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    console.print(f"$ {command}", style="bold", highlight=False)
    for line in AnsiDecoder().decode(text.rstrip("\n")):
        console.print(line, highlight=False)
    drawn = console.export_svg(title="", theme=CALM, unique_id="evalmark")
    drawn = re.sub(r"<!--.*?-->\s*", "", drawn)
    return FONT.sub("", drawn).replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")


def compared(folder: Path) -> str:
    """What two runs of the library's bot look like side by side, before and after its prompt is changed."""
    return printed(COMPARED, folder / "library.db", worse(folder))


def worse(folder: Path) -> Path:
    """A folder with the library's bot after its prompt is changed; both runs are in `library.db` beside it."""
    library = folder / "library"
    shutil.copytree(ROOT / "examples" / "library", library, ignore=shutil.ignore_patterns("__pycache__", ".evalmark"))
    environment = os.environ | {"EVALMARK_STORE": str(folder / "library.db")}
    command = [sys.executable, "-m", "evalmark", "run", "suite.yaml", "-q"]
    for prompt, code in (("Be friendly and complete.", 0), ("Answer in one sentence.", 1)):
        (library / "prompt.txt").write_text(f"You answer visitors of a public library. {prompt}\n", encoding="utf-8")
        ended = subprocess.run(command, cwd=library, env=environment, capture_output=True, text=True, check=False)
        if ended.returncode != code:
            raise SystemExit(f"{prompt}: exit code {ended.returncode} instead of {code}: {ended.stderr}")
    return library


def write(name: str, command: str, text: str) -> None:
    """Write a picture, unless it lacks words that it is there to show."""
    drawn = draw(command, text)
    if missing := missing_words(name, words_of_svg(drawn)):
        raise SystemExit(f"{name}: {command!r} does not print {missing}; it prints {text!r}")
    (HERE / name).write_text(drawn, encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write("compare.svg", COMPARED, compared(Path(folder)))
        for name, command in PICTURES.items():
            write(name, command, printed(command, Path(folder) / "evalmark.db"))


if __name__ == "__main__":
    main()
