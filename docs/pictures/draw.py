"""Draws the README's pictures of a terminal from what the commands really print.

Run: python docs/pictures/draw.py
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import TerminalTheme

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WIDTH = 100
PICTURES = {
    "rag.svg": "evalmark rag --dataset examples/rag/questions.json --model all-MiniLM-L6-v2 --worst 2",
    "run.svg": "evalmark run examples/similarity/suite-v2.yaml --worst 2",
}
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


def printed(command: str, store: Path) -> str:
    """What a command prints to a terminal of `WIDTH` columns, colours included."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "EVALMARK_STORE": str(store)}
    words = [sys.executable, "-m", *command.split()]
    reading, writing = pty.openpty()
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=writing, stderr=subprocess.DEVNULL):  # noqa: S603
        os.close(writing)
        chunks = []
        while chunk := _read(reading):
            chunks.append(chunk)
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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, command in PICTURES.items():
            (HERE / name).write_text(draw(command, printed(command, Path(folder) / "evalmark.db")), encoding="utf-8")


if __name__ == "__main__":
    main()
