"""Text from models, datasets and targets, made safe to show."""

import json
import re
from collections.abc import Mapping
from typing import Any

from evalmark.core.values.plain_data import plain

_STRINGS = "\x90\x98\x9d\x9e\x9f"  # what opens a control string in one character: DCS, SOS, OSC, PM, APC
_SEQUENCE = re.compile(
    rf"(?:\x1b[\]PX^_]|[{_STRINGS}])[^\x07\x1b\x9c{_STRINGS}]*(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[ -/]*[0-~]"  # all two-character ones
)
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\[)", re.MULTILINE)
"""What the runner of GitHub Actions obeys: lines that begin with `::`, and `##[` in the midst of one."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    r"""The text without anything that a terminal, a browser or an XML reader would act on.

    Escape sequences, control characters and marks that reorder the line are taken out, every kind
    of line end becomes a newline, half surrogate pairs become the replacement character.

    >>> clean("\x1b[31mred\x1b[0m\x07 and \x1b]8;;http://x\x1b\\a link")
    'red and a link'
    """
    if not _ODD.search(text):
        return text
    text = _LINE_ENDS.sub("\n", _SEQUENCE.sub("", text))
    return _ODD.sub("", _SURROGATE.sub("\ufffd", text))


def escape_workflow_commands(text: str) -> str:
    r"""The text with a space in whatever the runner of GitHub Actions would obey, were it printed in one of its jobs.

    >>> print(escape_workflow_commands("said\n  ::error::that ##[add-mask]is a::b"))
    said
      : :error::that # #[add-mask]is a::b
    """
    return _COMMAND.sub(lambda found: f"{found[0]} ", text)


def display_text(value: Any) -> str:
    """Any value as clean text: text as it is, None as nothing, the rest as JSON."""
    if value is None:
        return ""
    return clean(value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False))


def unwrap_single_input(given: Any) -> Any:
    """The text of an input that has one named part, a text, as that of most prompts; any other input as it is.

    >>> unwrap_single_input({"mail": "Where is my parcel?"}), unwrap_single_input({"mail": "Hello", "plan": "free"})
    ('Where is my parcel?', {'mail': 'Hello', 'plan': 'free'})
    """
    if isinstance(given, Mapping) and len(given) == 1:
        (only,) = given.values()
        return only if isinstance(only, str) and only.strip() else given
    return given


def one_line(value: Any, width: int | None = None) -> str:
    """Any value as one clean line, cut to the width with an ellipsis."""
    text = display_text(value)
    if width is not None:
        text = text[: width * 4 + 100]  # more than any line needs, however many blanks fold up
    return cut(" ".join(text.split()), width)


def cut(text: str, width: int | None) -> str:
    """At most so many characters."""
    if width is None or len(text) <= width:
        return text
    return text[: max(0, width - 1)].rstrip() + "…"
