"""How parts become text for a terminal: its width, colours and characters, and nothing of the environment."""

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, Group, RenderableType

from . import wording
from .options import Look

DEFAULT = Look()
COLORS = {"pass": "green", "fail": "red", "error": "magenta", "unscored": "yellow", "cannot tell": "yellow"}
MARKS = {"pass": "✓", "fail": "✗", "error": "!", "unscored": "?", "ungated": "·", "cannot tell": "?"}
RAISED = "¹²³⁴⁵⁶⁷⁸⁹"
_ASCII = str.maketrans(
    {
        "✓": "+",
        "✗": "x",
        "·": "-",
        "↓": "v",
        wording.DASH: "-",
        "…": "...",
        "≥": ">=",
        "≤": "<=",
        "\u201c": '"',
        "\u201d": '"',
    }
    | dict(zip(wording.BLOCKS, wording.ASCII_BLOCKS, strict=True))
    | dict(zip(RAISED, "abcdefghi", strict=True))
)


def inner(look: Look) -> int:
    """Columns between the margins; an ellipsis takes three places in ASCII."""
    return look.width - (2 if look.unicode else 8)


def drawn(parts: Iterable[RenderableType], look: Look) -> str:
    """The parts as text, free of the environment: only `look` decides."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=inner(look),
        color_system="standard" if look.color else None,
        force_terminal=look.color,
        no_color=not look.color,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(Group(*parts))
    lines = [f"  {line.rstrip()}".rstrip() for line in stream.getvalue().split("\n")]
    text = "\n" + "\n".join(lines)
    return text if look.unicode else text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
