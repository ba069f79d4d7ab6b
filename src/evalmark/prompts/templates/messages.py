"""Splits the body of a prompt into messages at lines that name roles, before variables are filled."""

import re
from collections.abc import Iterator

from evalmark.inputs.documents.findings import Findings

from .prompt import Message

MAX_ROLE_LINE = 200
"""Characters of a line that may name a role: the patterns take quadratic time."""
_ROLE = re.compile(r"[ \t]*#?[ \t]*(system|user|assistant|developer)[ \t]*(\[[^\]]*\])?[ \t]*:[ \t]*", re.IGNORECASE)
_OTHER_ROLE = re.compile(r"[ \t]*#?[ \t]*(tools?|function)[ \t]*(\[[^\]]*\])?[ \t]*:[ \t]*", re.IGNORECASE)
_ROLE_OF_VALUE = re.compile(r"[ \t]*#?[ \t]*\{\{[^{}]*\brole[ \t]*\}\}[ \t]*:[ \t]*")
_PICTURE = re.compile(r"!\[[^\]]*\]\(")


def split_messages(body: str, line: int, findings: Findings) -> tuple[Message, ...]:
    """Return the messages of a body that starts at a line of the file; text above the first role is a system message.

    A line with only a role and a colon, such as `user:`, starts a message. Blank lines around a message are not part of it.
    """
    messages = []
    for role, number, lines in _sections(body.split("\n"), line, findings):
        value = [place for place, text in enumerate(lines) if text.strip()]
        if value:
            text = "\n".join(lines[value[0] : value[-1] + 1])
            messages.append(Message(role=role or "system", text=text, line=number + value[0]))
        elif role:
            findings.note(number - 1, f"nothing follows `{role}:`; the message is left out.")
    return tuple(messages)


def _sections(lines: list[str], first: int, findings: Findings) -> Iterator[tuple[str, int, list[str]]]:
    """Yield role (empty above the first), number of the first line, and lines."""
    role, start, found = "", first, list[str]()
    for number, line in enumerate(lines, first):
        opened = _ROLE.fullmatch(line) if ":" in line and len(line) <= MAX_ROLE_LINE else None
        if opened is None:
            found.append(line)
            _note_unsupported(line, number, findings)
            continue
        if opened[2]:
            findings.note(number, "text in brackets after a role is not sent.")
        yield role, start, found
        role, start, found = normalize_role(opened[1]), number + 1, []
    yield role, start, found


def normalize_role(word: str) -> str:
    """Return a role by the name that every provider knows."""
    return "system" if word.lower() == "developer" else word.lower()


def _note_unsupported(line: str, number: int, findings: Findings) -> None:
    """Add a note for lines that other tools treat specially and that are plain text here."""
    if len(line) > MAX_ROLE_LINE:
        return
    if other := _OTHER_ROLE.fullmatch(line):
        findings.note(number, f"`{other[1].lower()}:` does not start a message; it is text.")
    elif _ROLE_OF_VALUE.fullmatch(line):
        findings.note(
            number,
            "a variable cannot set the role of a message, so this line is text; for a conversation, declare an input of the type thread.",
        )
    elif _PICTURE.search(line):
        findings.note(
            number, "an image in Markdown is sent as text; to send an image, declare an input of the type image."
        )
