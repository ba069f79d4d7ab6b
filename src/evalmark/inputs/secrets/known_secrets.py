"""Find the secrets this process knows, such as the values of environment variables, in any spelling or encoding."""

import base64
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.lazy import need

from .fields import MASK, secret_paths
from .patterns import mask_patterns

MIN_LEAK = 12
"""This many consecutive characters of a secret are a leak; a shorter text may occur anywhere."""
_LETTERS_ALONE = 16
"""The least length of a key of letters only; a shorter one may be a word."""
_GRAM = 4
_STEP = 8
"""Every eighth piece of four characters is looked up: any eleven consecutive characters contain one of these."""
_MIN_DISTINCT = 4
"""The least number of different characters; a piece with fewer is a line or a placeholder."""
_ROUNDS = 3
"""How many nested encodings are decoded."""
_FOLD = bytes.maketrans(b"-_ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"+/abcdefghijklmnopqrstuvwxyz")
_DROPPED = bytes(code for code in range(256) if code <= 0x20 or code >= 0x7F or code in b"\"'`\\")
_ESCAPE = re.compile(
    r"\\+(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-3][0-7]{2})|[nrtfbv])"
    r"|%([0-9a-fA-F]{2})|&(?:#[xX]([0-9a-fA-F]{1,6});?|#([0-9]{1,7});?|[A-Za-z]{2,10};)"
)
_VARIANT = re.compile("[\u2010-\u2015\u2212\uff01-\uff5e\U0001d400-\U0001d7ff]")
"""Variants of ASCII characters: dashes, full width, and mathematical letters and digits."""
_BASES = (16, 16, 16, 16, 8, 16, 16, 10)
"""The number base of each group of `_ESCAPE`."""
_LAST = 0x10FFFF
_WORDS = frozenset(
    (
        *("key", "keys", "apikey", "token", "tokens", "secret", "secrets", "pass", "password", "passwords", "passwd"),
        *(
            "passphrase",
            "pwd",
            "credential",
            "credentials",
            "creds",
            "auth",
            "authorization",
            "bearer",
            "cookie",
            "jwt",
        ),
        *("pat", "dsn"),
    )
)
_ENDS = ("apikey", "accesskey", "secretkey", "privatekey", "token", "secret", "password", "passwd", "passphrase")
_ABOUT = frozenset(
    (
        *("path", "file", "dir", "directory", "folder", "home", "url", "uri", "endpoint", "host", "hostname", "port"),
        *("name", "backend", "type", "algorithm", "alg", "length", "size", "limit", "count", "version", "model"),
        *("prefix", "header", "enabled", "sock", "socket", "ttl", "expiry", "region", "format", "provider", "method"),
    )
)
"""Last words of variables that describe a secret but do not contain one."""
_PLAIN_NAMES = frozenset(("PWD", "OLDPWD", "GPG_KEY", "EVALMARK_TOKEN"))
_PATH = re.compile(r"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_PUBLIC = re.compile(
    r"-----(?:BEGIN|END) [A-Z0-9 ]+-----|hooks\.slack\.com/[a-z]+/|\bsk-ant-[a-z]+\d\d-|\bgithub_pat_"
    r"|\beyJ[A-Za-z0-9_-]+(?=\.)"
)
"""Public parts of secrets."""


class SecretIndex(NamedTuple):
    """An index of secrets for searching texts."""

    grams: frozenset[int]
    """Every piece of four characters of every secret, as a number."""
    runs: frozenset[bytes]
    """Every piece that is long enough to be a leak."""
    lengths: tuple[int, ...]
    """The lengths of those."""
    literals: tuple[str, ...]
    """Secrets with too few letters and digits to be split into pieces."""

    def masked(self, text: str) -> str:
        """Mask each piece of a secret in a text; a text without any is returned unchanged."""
        for literal in self.literals:
            text = text.replace(literal, MASK)
        if not self.grams:
            return text
        plain = _normalized(text)
        if self.grams.isdisjoint(_numbers(plain)):
            return text
        places = self._leaks(plain)
        return _with_masks(text, places) if places else text

    def _leaks(self, plain: bytes) -> list[tuple[int, int]]:
        """Return the spans of leaks in a normalized text; adjacent ones are merged."""
        found: list[tuple[int, int]] = []
        for place, number in enumerate(_numbers(plain)):
            if number in self.grams:
                found += self._around(plain, _STEP * place)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _around(self, plain: bytes, at: int) -> Iterator[tuple[int, int]]:
        for length in self.lengths:
            for start in range(max(0, at + _GRAM - length), min(at, len(plain) - length) + 1):
                if plain[start : start + length] in self.runs:
                    yield start, start + length


def build_index(secrets: Iterable[str]) -> SecretIndex:
    """Build the index of these secrets."""
    grams: set[int] = set()
    runs: set[bytes] = set()
    literals: list[str] = []
    for secret in dict.fromkeys(secrets):
        for form, length in _forms(secret):
            pieces = {form[at : at + length] for at in range(len(form) - length + 1)}
            runs |= {piece for piece in pieces if len(set(piece)) >= _MIN_DISTINCT or len(form) == length}
        if len(_normalized(secret)) < MIN_LEAK - 1:
            literals.append(secret)
    for piece in runs:
        grams |= {int.from_bytes(piece[at : at + _GRAM], sys.byteorder) for at in range(len(piece) - _GRAM + 1)}
    return SecretIndex(frozenset(grams), frozenset(runs), tuple(sorted({len(run) for run in runs})), tuple(literals))


def _forms(secret: str) -> Iterator[tuple[bytes, int]]:
    """Yield the normalized spellings of a secret, each with the length from which a part of it is a leak."""
    for part in _PUBLIC.split(secret):
        plain = _normalized(part)
        if len(plain) >= MIN_LEAK - 1:
            yield plain, min(MIN_LEAK, len(plain) - 1) if len(plain) >= MIN_LEAK else len(plain)
    data = secret.encode(errors="surrogatepass")
    yield data.hex().encode(), min(2 * MIN_LEAK, 2 * len(data))
    for shift in range(3):
        first, last = -(-8 * shift // 6), 8 * (shift + len(data)) // 6
        form = base64.b64encode(b"\0" * shift + data)[first:last].translate(_FOLD)
        yield form, min(8 * MIN_LEAK // 6 - 1, len(form))


def _normalized(text: str) -> bytes:
    """Normalize a text for comparison: decoded, lower case, without blanks, quotes and non-ASCII characters."""
    if "\\" in text or "%" in text or "&" in text:
        for _ in range(_ROUNDS):
            decoded = _ESCAPE.sub(_decoded, text)
            if decoded == text:
                break
            text = decoded
    if not text.isascii():
        text = _VARIANT.sub(_ascii, text)
    return text.encode(errors="surrogatepass").translate(_FOLD, _DROPPED)


def _decoded(found: re.Match[str]) -> str:
    for number, base in zip(found.groups(), _BASES, strict=True):
        if number is not None:
            code = int(number, base)
            return chr(code) if code <= _LAST else ""
    return need("html").unescape(found[0]) if found[0][0] == "&" else " "


def _ascii(found: re.Match[str]) -> str:
    """Replace a variant by its ASCII character, one for one, so that offsets do not change."""
    return "-" if found[0] < "\uff00" else need("unicodedata").normalize("NFKC", found[0])


def _numbers(plain: bytes) -> list[int]:
    """Return every eighth piece of four characters, as a number."""
    numbers: list[int] = memoryview(plain + b" " * (-len(plain) % _STEP)).cast("I")[::2].tolist()
    return numbers


def _with_masks(text: str, leaks: Iterable[tuple[int, int]]) -> str:
    """Mask a text where its normalized form has leaks."""
    places = _places(text)
    parts: list[str] = []
    done = 0
    for start, end in leaks:
        first, last = places[start][0], places[end - 1][1]
        if first >= done:
            parts += (text[done:first], MASK)
        done = max(done, last)
    return "".join((*parts, text[done:]))


def _places(text: str) -> list[tuple[int, int]]:
    """Return, for each character of the normalized text, its span in the original text."""
    spelled = [(char, at, at + 1) for at, char in enumerate(text)]
    for _ in range(_ROUNDS):
        written = "".join(char for char, _, _ in spelled)
        decoded: list[tuple[str, int, int]] = []
        done = 0
        for escape in _ESCAPE.finditer(written):
            decoded += spelled[done : escape.start()]
            span = spelled[escape.start()][1], spelled[escape.end() - 1][2]
            decoded += [(char, *span) for char in _decoded(escape)]
            done = escape.end()
        if not done:
            break
        spelled = decoded + spelled[done:]
    return [
        (start, end)
        for char, start, end in spelled
        if _VARIANT.sub(_ascii, char).encode(errors="surrogatepass").translate(None, _DROPPED)
    ]


class _CachedIndex(NamedTuple):
    environment: Mapping[Any, Any]
    sent: frozenset[str]
    pieces: SecretIndex


_sent: frozenset[str] = frozenset()
_cached: _CachedIndex | None = None


def is_long_enough(value: str) -> bool:
    """Tell whether a secret is long enough to be distinguished from ordinary words."""
    return len(value) >= MIN_LEAK and not value.isalpha()


def _is_key(value: str) -> bool:
    """Tell whether a key can be distinguished from the dummy keys of local servers."""
    return len(value) >= _LETTERS_ALONE or is_long_enough(value)


def register_secret(secret: str) -> None:
    """Mask a key from now on, unless it is too short to be distinguished from words."""
    global _sent
    if _is_key(secret) and secret not in _sent:
        _sent |= {secret}


def forget_registered_secrets() -> None:
    """Forget all registered keys; for tests."""
    global _sent
    _sent = frozenset()


def mask_known_secrets(text: str) -> str:
    """Mask all known secrets in a text, and every longer part of one."""
    return _index().masked(text)


def mask_key(text: str, key: str) -> str:
    """Mask one key in a text, and every longer part of it."""
    return _index_of_key(key).masked(text) if _is_key(key) else text


@lru_cache(maxsize=64)
def _index_of_key(key: str) -> SecretIndex:
    return build_index((key,))


def _index() -> SecretIndex:
    global _cached
    # Comparing the mapping behind `os.environ` takes a microsecond; reading every variable takes fifty.
    environment: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
    if _cached is None or _cached.sent is not _sent or _cached.environment != environment:
        _cached = _CachedIndex(dict(environment), _sent, build_index((*_sent, *environment_secrets(os.environ))))
    return _cached.pieces


def environment_secrets(environ: Mapping[str, str]) -> list[str]:
    """Return the values of variables that are secrets, by the variable's name or by the value's format.

    >>> environment_secrets({"DB_PASSWORD": "correct-horse-7", "KEY_FILE": "/run/secrets/key", "API_TOKEN": "true"})
    ['correct-horse-7']
    """
    secrets: list[str] = []

    def note(secret: str) -> str:
        secrets.append(secret)
        return MASK

    for name, value in environ.items():
        mask_patterns(value, note, careful=True)
        if names_secret(name):
            secrets += _parts(value.strip())
    return [value for value in dict.fromkeys(secrets) if is_long_enough(value)]


def names_secret(name: str) -> bool:
    """Tell whether a variable is a secret by its name.

    >>> names_secret("DB_PASSWORD"), names_secret("TENANT")
    (True, False)
    """
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word]
    if name.upper() in _PLAIN_NAMES or not words or words[-1] in _ABOUT:
        return False
    return any(word in _WORDS or word.endswith(_ENDS) for word in words)


def _parts(value: str) -> list[str]:
    """Return the secret parts of a value: all of it, or the secret fields of JSON, or nothing of a path or a URL."""
    if value.startswith("{"):
        try:
            data = json.loads(value)
        except ValueError:
            return [value]
        return [str(_at(data, path)) for path in secret_paths(data)]
    if _ADDRESS.fullmatch(value) or (_PATH.match(value) and _is_path(value)):
        return []  # the secret part of a URL is found by its format
    return [value]


def _at(data: Any, path: Iterable[Any]) -> Any:
    for part in path:
        data = data[part]
    return data


def _is_path(value: str) -> bool:
    try:
        return value.count("/") + value.count("\\") > 2 or bool(Path(value).suffix) or Path(value).exists()
    except (OSError, ValueError):
        return False
