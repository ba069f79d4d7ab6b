"""Find secrets in texts by their format."""

import re
from collections.abc import Callable, Mapping

Hide = Callable[[str], str]
"""Returns the replacement of a secret."""

_KEY_PATTERNS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    # Each pattern comes with the texts, one of which must occur before the pattern is tried.
    (("sk-", "sk_", "rk_"), re.compile(r"\b[sr]k[-_](?:[A-Za-z]{2,12}[-_]){0,3}[A-Za-z0-9_-]{16,200}")),
    (("AKIA", "ASIA", "AROA", "AIDA"), re.compile(r"\bA(?:KIA|SIA|ROA|IDA)[A-Z0-9]{16}\b")),
    (("gh",), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,255}")),
    (("github_pat_",), re.compile(r"\bgithub_pat_[A-Za-z0-9_]{30,255}")),
    (("glpat-",), re.compile(r"\bglpat-[A-Za-z0-9_.-]{18,100}")),
    (("xox", "xapp-"), re.compile(r"\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{10,250}")),
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
)
_NAME = re.compile(r"[a-z]{2,15}(?:[-_]{1,2}[a-z]{1,15})+[-_]*")
"""Short lower-case words, as in a package or CSS class: `sk-learn-contrib-examples`; no key looks like this."""
_BEGIN = re.compile("|".join(re.escape(word) for words, _ in _KEY_PATTERNS for word in words))
_SLACK_HOST = "hooks.slack.com"
_SLACK = re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,120}")
_PRIVATE = "PRIVATE KEY"
_PRIVATE_KEY = re.compile(
    # Up to the key's end or the end of the text, since the headers of an encrypted key contain dashes too.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[A-Z0-9 ]{0,60}-----|\Z)",
    re.DOTALL,
)
_BEARER = re.compile(
    r"\b((?P<header>authorization\W{1,8})?(?:Bearer|Basic)\s+)(?P<value>[A-Za-z0-9._~+/-]{12,4000}=*)", re.IGNORECASE
)
_DIGIT_OR_END = re.compile(r"[0-9]|=\Z")
_CLASSES = bytes(ord("x") if chr(c).isalnum() or chr(c) in "_.-" else 32 for c in range(128)).ljust(256)
_RUN = b"x" * 15
"""Every key that matches one of `_KEY_PATTERNS` has this many consecutive letters, digits, dots, dashes and underscores."""
_IN_ADDRESS = re.compile(r"(://[^\s/:@'\"<>]{0,200}:)([^\s/'\"<>]{1,200})(?=@)")
_IN_ADDRESS_ALONE = re.compile(r"(://)([^\s/:@'\"<>]{12,200})(?=@)")
"""A URL with one word before the host; user names are shorter, or letters only."""
_BEFORE_HOST = re.compile(
    r"(?<![\w.:/@+-])(?!(?:mailto|e?-?mail|sips?|xmpp|acct|to|from|b?cc|contact):)([\w.+-]{1,64}:)([^\s/:@'\"<>,;]{3,200})(?=@(?:[\w-]+(?:\.[\w-]+)*(?::\d|/)|[\w-]+(?![\w.-]|\.\w)))",
    re.IGNORECASE,
)
"""`user:password@host` without a scheme, for a host with a port, a path, or no dot; else it is a mail address."""
_VALUE = re.compile(
    r"(?:\\{0,3}[\"'])?\s{0,3}[=:]\s{0,3}"
    r"(?:(\\{0,3}[\"'])((?:(?!\1)[^\n]){6,500}?)(?=\1)|(?:\\{0,3}[\"'])?((?:[^\s\"',;&\\]|\\(?![\"'])){6,500}))"
)
"""The value after a name: everything in quotes, or one word."""
_BEFORE: Mapping[str, re.Pattern[str]] = {
    "key": re.compile(r"(?:api|secret|access|private|account)[_-]?\Z", re.IGNORECASE),
    "token": re.compile(r"(?:access|auth|refresh|session|id|bot|api)[_-]?\Z", re.IGNORECASE),
}
"""Required before `key` and `token`, which also occur in other names."""
_ALONE = re.compile(r"\\{0,3}[\"']|=")
"""Required after a single `token`, since a colon may follow it in a sentence."""
_WORDS = ("key", "secret", "passw", "passphrase", "token")
_PASSWORD = re.compile(r"passw(?:or)?d", re.IGNORECASE)
_BETWEEN, _SEPARATORS = " \t\n\r\"'\\", ("=", ":", "")
_CODE = frozenset("()[]{}<>$")
_PUNCTUATION = ".!?\u2026"
_IN_QUERY = re.compile(
    r"([?&;](?:key|token|pwd|sig|signature|x-(?:amz|goog)-(?:signature|security-token))=)([^\s\"'<>&;#]{6,4000})",
    re.IGNORECASE,
)


def mask_patterns(text: str, hide: Hide, *, careful: bool = False) -> str:
    """Replace each key, token and password with a known format by the result of `hide`.

    With `careful`, a value after a name such as `api_key=` stays if it looks like a word or like code.
    """
    if _RUN in (classes := text.encode("ascii", "replace").translate(_CLASSES)):  # a byte for each character
        text = _mask_keys(text, classes, hide)
    if _PRIVATE in text:
        text = _PRIVATE_KEY.sub(lambda found: hide(found[0]), text)
    if "@" in text and ":" in text:
        text = _mask_addresses(text, hide, careful=careful)
    if "=" in text or ":" in text or " " in text:
        text = _mask_named_values(text, text.lower(), hide, careful=careful)
    if "=" in text and ("?" in text or "&" in text or ";" in text):
        text = _IN_QUERY.sub(
            lambda found: found[0] if careful and _is_plain(found[2]) else f"{found[1]}{hide(found[2])}", text
        )
    return text


def _mask_keys(text: str, classes: bytes, hide: Hide) -> str:
    """Replace keys of known providers, each of which is one word of letters, digits, dots, dashes and underscores."""
    parts: list[str] = []
    done, at = 0, classes.find(_RUN)
    while at >= 0:
        end = classes.find(b" ", at)
        end = len(text) if end < 0 else end
        if _BEGIN.search(text, at, end):
            word = text[at:end]
            for _, shape in _KEY_PATTERNS:
                word = shape.sub(lambda found: found[0] if _NAME.fullmatch(found[0]) else hide(found[0]), word)
            parts += (text[done:at], word)
            done = end
        at = classes.find(_RUN, end)
    text = "".join((*parts, text[done:])) if parts else text
    return _SLACK.sub(lambda found: hide(found[0]), text) if _SLACK_HOST in text else text


def _mask_addresses(text: str, hide: Hide, *, careful: bool) -> str:
    if "://" in text:
        text = _IN_ADDRESS.sub(lambda found: f"{found[1]}{hide(found[2])}", text)
        text = _IN_ADDRESS_ALONE.sub(
            lambda found: found[0] if found[2].isalpha() else f"{found[1]}{hide(found[2])}", text
        )
    return _BEFORE_HOST.sub(
        lambda found: found[0] if careful and found[2].isalpha() else f"{found[1]}{hide(found[2])}", text
    )


def _mask_named_values(text: str, low: str, hide: Hide, *, careful: bool) -> str:
    """Replace values after a secret's name. `low` is the text in lower case, nearly always of the same length."""
    if "bearer" in low or "basic" in low:
        text = _BEARER.sub(lambda found: _mask_bearer(found, hide), text)
        low = text.lower()
    if len(low) != len(text):  # a few letters become two
        low = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    if "=" not in text and ":" not in text:
        return text
    parts: list[str] = []
    done = 0
    for start, end in _values(text, low):
        if start >= done and not (careful and _is_plain(text[start:end])):
            parts += (text[done:start], hide(text[start:end]))
            done = end
    return "".join((*parts, text[done:])) if parts else text


def _mask_bearer(found: re.Match[str], hide: Hide) -> str:
    """Replace a bearer token, but not ordinary words outside of a header ("basic functionality")."""
    value = found["value"]
    if found["header"] is None and not (_DIGIT_OR_END.search(value)):
        return found[0]
    return f"{found[1]}{hide(value)}"


def _values(text: str, low: str) -> list[tuple[int, int]]:
    """Return the spans of values after the name of a secret, in order."""
    found = []
    for word in _WORDS:
        at = low.find(word)
        while at >= 0:
            if (end := _end_of_name(text, word, at)) and (value := _VALUE.match(text, end)):
                found.append(value.span(2) if value[2] is not None else value.span(3))
            at = low.find(word, at + len(word))
    return sorted(found)


def _end_of_name(text: str, word: str, at: int) -> int:
    """Return the end of the name that ends with this word; 0 if it is not the name of a secret."""
    end = at + len(word)
    if word != "passw" and text[end : end + 6].lstrip(_BETWEEN)[:1] not in _SEPARATORS:  # nearly always
        return 0
    if word == "passw":
        password = _PASSWORD.match(text, at)
        return password.end() if password else 0
    if word not in _BEFORE or _BEFORE[word].search(text, max(0, at - 12), at):
        return end
    alone = word == "token" and (at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_"))
    return end if alone and _ALONE.match(text, end) else 0


def _is_plain(value: str) -> bool:
    """Tell whether a value is a word, or code: only letters, or with brackets, or without letters and digits."""
    word = value.rstrip(_PUNCTUATION)
    is_word = all(c.isalpha() or c in "._-: " for c in word)
    return is_word or bool(_CODE & set(word)) or not any(c.isalnum() for c in word)
