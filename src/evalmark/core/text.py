"""Make text from models, datasets and targets safe to display, and format numbers."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evalmark.core.values.plain_data import plain

_STRINGS = "\x90\x98\x9d\x9e\x9f"  # one-character starts of a control string: DCS, SOS, OSC, PM, APC
_SEQUENCE = re.compile(
    rf"(?:\x1b[\]PX^_]|[{_STRINGS}])[^\x07\x1b\x9c{_STRINGS}]*(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[ -/]*[0-~]"  # all two-character ones
)
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\[)", re.MULTILINE)
"""Commands for the runner of GitHub Actions: lines that begin with `::`, and `##[` anywhere."""
PLAIN = "EVALMARK_PLAIN"
"""The variable that makes all text plain, as the flag --plain does."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_DIGITS = 12
_NOISE = 1e-9


def is_plain(environ: Mapping[str, str]) -> bool:
    """Return whether text is plain: of a fixed width and with ASCII signs, without colours and without lines that change."""
    return environ.get(PLAIN, "").lower() in ("1", "true", "yes", "on")


def encodable(text: str, stream: Any) -> str:
    """Return a text with escapes for the characters that a stream cannot encode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def clean(text: str) -> str:
    r"""Remove everything that a terminal, a browser or an XML parser would interpret.

    Escape sequences, control characters and bidirectional marks are removed, every kind of line end becomes a
    newline, and lone surrogates become the replacement character.

    >>> clean("\x1b[31mred\x1b[0m\x07 and \x1b]8;;http://x\x1b\\a link")
    'red and a link'
    """
    if not _ODD.search(text):
        return text
    text = _LINE_ENDS.sub("\n", _SEQUENCE.sub("", text))
    return _ODD.sub("", _SURROGATE.sub("\ufffd", text))


def safe_for_ci(text: str) -> str:
    """Return a text without workflow commands if this process runs in GitHub Actions; elsewhere unchanged."""
    return escape_workflow_commands(text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def escape_workflow_commands(text: str) -> str:
    r"""Break up workflow commands with a space, so that the runner of GitHub Actions does not execute them.

    >>> print(escape_workflow_commands("said\n  ::error::that ##[add-mask]is a::b"))
    said
      : :error::that # #[add-mask]is a::b
    """
    return _COMMAND.sub(lambda found: f"{found[0]} ", text)


def display_text(value: Any) -> str:
    """Format any value as clean text: texts unchanged, None as the empty text, everything else as JSON."""
    if value is None:
        return ""
    return clean(value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False))


def unwrap_single_input(given: Any) -> Any:
    """Return the only value of an input that is a mapping with one text; return any other input unchanged.

    >>> unwrap_single_input({"mail": "Where is my parcel?"}), unwrap_single_input({"mail": "Hello", "plan": "free"})
    ('Where is my parcel?', {'mail': 'Hello', 'plan': 'free'})
    """
    if isinstance(given, Mapping) and len(given) == 1:
        (only,) = given.values()
        return only if isinstance(only, str) and only.strip() else given
    return given


def one_line(value: Any, width: int | None = None) -> str:
    """Format any value as one clean line, truncated to `width` characters with an ellipsis."""
    text = display_text(value)
    if width is not None:
        text = text[: width * 4 + 100]  # enough for the line, even after runs of spaces are collapsed
    return cut(" ".join(text.split()), width)


def cut(text: str, width: int | None) -> str:
    """Truncate a text to `width` characters with an ellipsis."""
    if width is None or len(text) <= width:
        return text
    return text[: max(0, width - 1)].rstrip() + "…"


def cut_at_word(value: Any, width: int) -> str:
    """Format any value as one line of at most `width` characters that ends with a whole word, unless the word is most of it.

    >>> cut_at_word("Is water damage covered?", 20), cut_at_word("aaaaaaaaaaaa b", 8)
    ('Is water damage…', 'aaaaaaa…')
    """
    text = one_line(value, width + 1)
    if len(text) <= width:
        return text
    start = text[: width - 1]
    words = start if text[len(start)].isspace() else start.rpartition(" ")[0]
    words = re.sub(r"[\s·,;:(\-]+$", "", words)
    return f"{words if len(words) >= width // 2 else start.rstrip()}…"


def count(number: int, noun: str) -> str:
    """Format a number with its noun in singular or plural.

    >>> count(1, "context"), count(1200, "character")
    ('1 context', '1,200 characters')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float, digits: int = 3) -> str:
    """Format a share (0 to 1) as a percentage; only exact values are shown as 100 % or 0 %.

    >>> percent(0.9), percent(0.9999), percent(1)
    ('90 %', '99.9 %', '100 %')
    """
    least = 10.0 ** (2 - digits)
    if 0 < share < 1:
        return f"{min(100 - least, max(least, 100 * share)):z.{digits}g} %"
    return f"{100 * share:z.{digits}g} %"


def percent_distinct_from(share: float, limit: float) -> str:
    """Format a share as a percentage with enough digits to show on which side of `limit` it is.

    >>> percent_distinct_from(0.8999, 0.9), percent_distinct_from(0.9, 0.9)
    ('89.99 %', '90 %')
    """
    return distinct_from(share, [limit], percent, 3)


def distinct_from(
    number: float, limits: Iterable[float], write: Callable[[float, int], str], digits: int, slack: float = _NOISE
) -> str:
    """Format a number with enough digits to show on which side of each limit it is, or that it equals the limit.

    Args:
        number: The number.
        limits: What it is compared with; they are shown with up to six digits.
        write: Formats a number with a number of digits.
        digits: The number of digits where no limit is near.
        slack: The largest difference between equal numbers.

    >>> def write(number, digits):
    ...     return f"{number:.{digits}f}"
    >>> distinct_from(0.69996, [0.7], write, 3), distinct_from(0.62743, [0.62743], write, 3), distinct_from(0.61275, [0.7], write, 3)
    ('0.69996', '0.62743', '0.613')
    """
    sides = [(write(float(f"{limit:.6g}"), _MOST_DIGITS), _side(number, limit, slack)) for limit in limits]
    while digits < _MOST_DIGITS and any(
        _side(_parsed(write(number, digits)), _parsed(limit), _NOISE) != side for limit, side in sides
    ):
        digits += 1
    return write(number, digits)


def _parsed(text: str) -> float:
    return float(text.removesuffix(" %").replace(",", ""))


def _side(number: float, limit: float, slack: float) -> int:
    return 0 if abs(number - limit) <= slack else 1 if number > limit else -1


def percent_limit(share: float) -> str:
    """Format a required share as a percentage, with the digits that were written.

    >>> percent_limit(0.9), percent_limit(0.9995)
    ('90 %', '99.95 %')
    """
    return f"{100 * share:.6g} %"


def without_shared_words(names: Sequence[str]) -> list[str]:
    """Leave out the words that all names have, such as the extension of files, where the rest tells them apart.

    >>> without_shared_words(["terse.prompty on gpt-4.1", "friendly.prompty on gpt-4.1"])
    ['terse', 'friendly']
    >>> without_shared_words(["a b", "b a"])
    ['a b', 'b a']
    >>> without_shared_words(["2026-11-29 01:15:42", "2026-11-29 01:15:43"])
    ['2026-11-29 01:15:42', '2026-11-29 01:15:43']
    """
    words = [re.findall(r"\.[A-Za-z]\w*|[^\s/:.]+(?:\.\d[^\s/:.]*)*", name) for name in names]
    shared = frozenset.intersection(*map(frozenset, words)) if words else frozenset()
    short = [" ".join(word for word in each if word not in shared).replace(" .", ".") for each in words]
    # A rest of digits alone, as of times, does not read as a name.
    are_names = all(re.search(r"[^\W\d]", name) for name in short)
    return short if shared and are_names and len(set(short)) == len(set(names)) else list(names)
