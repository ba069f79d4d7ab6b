"""Secrets known by their shape, wherever in a text they stand."""

import re
from collections.abc import Callable
from typing import Any

from .secrets import NOT_KEPT

MASK = NOT_KEPT
"""What stands in the place of a secret, as where one goes by its name."""

_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    # What has to stand in a text before it is searched for the shape: looking for a word is a hundred times faster.
    (("sk-", "sk_", "rk_"), re.compile(r"\b[sr]k[-_](?:[A-Za-z]{2,12}[-_]){0,3}[A-Za-z0-9_-]{16,200}")),
    (("AKIA", "ASIA", "AROA", "AIDA"), re.compile(r"\bA(?:KIA|SIA|ROA|IDA)[A-Z0-9]{16}\b")),
    (("gh",), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,255}")),
    (("github_pat_",), re.compile(r"\bgithub_pat_[A-Za-z0-9_]{30,255}")),
    (("glpat-",), re.compile(r"\bglpat-[A-Za-z0-9_.-]{18,100}")),
    (("xox", "xapp-"), re.compile(r"\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{10,250}")),
    (("hooks.slack.com",), re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,120}")),
    (("AIza",), re.compile(r"\bAIza[A-Za-z0-9_-]{30,45}")),
    (("ya29.",), re.compile(r"\bya29\.[A-Za-z0-9_-]{20,500}")),
    (("hf_",), re.compile(r"\bhf_[A-Za-z0-9]{30,60}")),
    (("gsk_",), re.compile(r"\bgsk_[A-Za-z0-9]{30,80}")),
    (("xai-",), re.compile(r"\bxai-[A-Za-z0-9]{40,120}")),
    (("r8_",), re.compile(r"\br8_[A-Za-z0-9]{30,60}")),
    (("pypi-",), re.compile(r"\bpypi-[A-Za-z0-9_-]{50,500}")),
    (("npm_",), re.compile(r"\bnpm_[A-Za-z0-9]{30,60}")),
    (("SG.",), re.compile(r"\bSG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,80}")),
    (("eyJ",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{0,1000}")),
    (
        ("PRIVATE KEY",),
        # Up to its end, or that of the text: the headers of an encrypted key hold dashes of their own.
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[A-Z0-9 ]{0,60}-----|\Z)", re.DOTALL
        ),
    ),
)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/-]{12,4000}=*", re.IGNORECASE)
_BEARERS = ("earer ", "EARER ", "asic ", "ASIC ")
_IN_ADDRESS = re.compile(r"(://[^\s/:@'\"<>]{0,200}:)[^\s/'\"<>]{1,200}(?=@)")
_NAMED = re.compile(
    r"((?:api[_-]?key|secret|passw(?:or)?d|passphrase|(?:secret|access|private|account)[_-]?key"
    r"|(?:access|auth|refresh|session|id|bot|api)[_-]?token|\btoken(?=\\{0,3}[\"']|=))(?:\\{0,3}[\"'])?\s{0,3}[=:]\s{0,3})"
    r"(?:(\\{0,3}[\"'])(?:(?!\2)[^\n]){6,500}?(?=\2)|(?:\\{0,3}[\"'])?(?:[^\s\"',;&\\]|\\(?![\"'])){6,500})",
    re.IGNORECASE,
)
"""What stands behind a name: all within quotes, or up to what ends a word."""
_IN_QUERY = re.compile(
    r"([?&;](?:key|token|pwd|sig|signature|x-(?:amz|goog)-(?:signature|security-token))=)[^\s\"'<>&;#]{6,4000}",
    re.IGNORECASE,
)
_NAMES = ("key", "secret", "passw", "passphrase", "token")


def masked(text: str) -> str:
    """The text with a mark in the place of each key, token and password that is known by its shape.

    >>> masked("use sk-proj-abcdefghijklmnopqrstuvwx for it, or https://ann:pa55@db/x")
    'use (not kept) for it, or https://ann:(not kept)@db/x'
    """
    if len(text) < 8:
        return text
    for words, shape in _SHAPES:
        if any(word in text for word in words):
            text = shape.sub(MASK, text)
    if any(word in text for word in _BEARERS):
        text = _BEARER.sub(rf"\1 {MASK}", text)
    if "://" in text and "@" in text:
        text = _IN_ADDRESS.sub(rf"\1{MASK}", text)
    if ("=" in text or ":" in text) and any(word in text.lower() for word in _NAMES):
        text = _NAMED.sub(lambda found: f"{found[1]}{found[2] or ''}{MASK}", text)
    if "=" in text and ("?" in text or "&" in text or ";" in text):
        text = _IN_QUERY.sub(rf"\1{MASK}", text)
    return text


def in_every_text(data: Any, change: Callable[[str], str]) -> Any:
    """Plain data with each of its texts changed, those that are keys of mappings too.

    >>> in_every_text({"a": ["b", 1]}, str.upper)
    {'A': ['B', 1]}
    """
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {change(key): in_every_text(item, change) for key, item in data.items()}
    if isinstance(data, list):
        return [in_every_text(item, change) for item in data]
    return data
