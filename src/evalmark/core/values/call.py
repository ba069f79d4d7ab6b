"""A model call: the request, the reply, and how both are logged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .case import ToolCall, Turn, Usage
from .plain_data import canonical, digest_of, fingerprint_of_texts, short_digest

if TYPE_CHECKING:
    from hashlib import _Hash

ReplyStatus = Literal["ok", "truncated", "refused", "filtered", "empty"]
ReplyForm = Literal["", "schema", "tool", "text"]

KEY_VERSION = "call-1"
"""Part of every key. Change it when the way keys are made changes; old recordings are then no longer found."""


RESERVED_SETTINGS = frozenset(("contents", "messages", "model", "n", "stream"))
"""Settings that are refused, because the request sets them itself; they would change what is sent but not the key."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to a chat model, independent of any provider's format."""

    messages: tuple[Turn, ...]
    """System messages may be at any position; providers that need them separately extract them."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the object to reply with; None: the reply is free text."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, `max_tokens`, `seed`, `stop`; None values are left out. Others are sent unchanged."""
    logprobs: int = 0
    """How many of the most likely tokens to report for each position; 0: none."""

    @cached_property
    def hash(self) -> str:
        """A hash of everything that can change the reply, except the model itself."""
        return fingerprint_of_texts((canonical(KEY_VERSION), *self.texts))

    @cached_property
    def texts(self) -> tuple[str, str, str, str]:
        """The canonical JSON of messages, schema, settings and logprobs, for the key and the call log."""
        return (
            _canonical_messages(self.messages),
            canonical_cached(self.schema),
            canonical(_effective_settings(self.settings)) if self.settings else "{}",
            canonical(self.logprobs),
        )

    def key(self, identity: str, repeat: int = 0, use: int = 0) -> str:
        """Make the key of this request in the call log.

        Args:
            identity: the model and its endpoint.
            repeat: the number of the repeat of the case, from 0.
            use: how often the trial has made the same request before, from 0.
        """
        digest = _key_prefix(identity).copy()
        digest_of((canonical(self.hash),), digest)
        return f"{short_digest(digest)}-{repeat}-{use}"


def is_model(identity: str) -> bool:
    """Return whether an identity is that of a model, and not of an HTTP service or a command under test.

    >>> is_model("openai/gpt@https://api.openai.com/v1"), is_model("command/worse@9f86d081")
    (True, False)
    """
    return not identity.startswith(("command/", "http/service@"))


@lru_cache(maxsize=256)
def _key_prefix(identity: str) -> "_Hash":
    """Return the digest with which every key of a model begins (cached, since there are few models)."""
    return digest_of((canonical(KEY_VERSION), canonical(identity)))


def _canonical_messages(messages: Sequence[Turn]) -> str:
    """Return the canonical JSON of messages; the common case of plain texts is assembled without the encoder."""
    parts = []
    for turn in messages:
        if not (type(turn) is Turn and type(turn.content) is str and type(turn.role) is str):
            return canonical(messages)
        parts.append(f'{{"content":{canonical(turn.content)},"role":{canonical(turn.role)}}}')
    return f"[{','.join(parts)}]"


def _effective_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings as the provider gets them: None values are left out, and 1.0 becomes 1."""
    given = ((name, value) for name, value in settings.items() if value is not None)
    return {name: int(value) if type(value) is float and value.is_integer() else value for name, value in given}


class Token(NamedTuple):
    """One token of a reply with its natural log probability, and the most likely alternatives with theirs."""

    text: str
    logprob: float
    others: tuple[tuple[str, float], ...] = ()


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One failed attempt of a model call."""

    seconds: float
    error: str
    """One line: what went wrong."""
    status: int | None = None
    """The HTTP status; None when there was no response."""
    body: str = ""
    """The first 4,096 characters of the response, where there was one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply of a model, with its usage and cost."""

    text: str = ""
    status: ReplyStatus = "ok"
    """`truncated`: cut by a length limit; `refused`; `filtered`: by the provider; `empty`: no text, no tool call, no data."""
    data: Any = None
    """The object that `Request.schema` describes; None if the reply had none, and `text` then has the whole reply."""
    form: ReplyForm = ""
    """How the object was requested: native JSON schema, a tool call, or in the prompt; empty if none was requested."""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    cost: float | None = None
    """US dollars; None when the price or the usage is not known."""
    model: str = ""
    """The provider's name of the model that replied; may differ from the requested one."""
    system_fingerprint: str = ""
    seconds: float | None = None
    """Wall time of the attempt that succeeded."""
    attempts: tuple[Attempt, ...] = ()
    """The failed attempts before this reply."""
    tokens: tuple[Token, ...] = ()
    """With their probabilities, if they were requested and reported."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The response headers on an allow-list: request id, limits, dates."""
    key: str = ""
    """The key of the call in the call log."""
    replayed: bool = False
    """Whether it is a cached reply, which cost nothing now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request with its reply or error, as the call log stores it."""

    key: str
    model: str
    """The name the user gave."""
    identity: str
    """The model and its endpoint, from which the key was made."""
    request: Request
    repeat: int = 0
    use: int = 0
    reply: Reply | None = None
    error: str | None = None
    created: str = ""
    """ISO 8601 in UTC."""
    altered: bool = False
    """Whether a secret was masked in the request after the key was made."""
    masked: bool = False
    """Whether a secret was masked in the reply."""

    @property
    def can_be_replayed(self) -> bool:
        """Whether the reply may be used again; errors and truncated, refused, filtered, empty or masked replies may not."""
        return self.reply is not None and self.reply.status == "ok" and not self.masked

    @property
    def is_model_call(self) -> bool:
        """Whether a model was called, and not a service or a command under test."""
        return is_model(self.identity)

    @property
    def computed_key(self) -> str:
        """The key computed from the stored request; differs from `key` if the request was altered."""
        return self.request.key(self.identity, self.repeat, self.use)

    @property
    def replayed(self) -> Reply | None:
        """The reply, marked as replayed; None if it may not be used again."""
        if self.reply is None or not self.can_be_replayed:
            return None
        return replace(self.reply, key=self.key, replayed=True)


_SCALARS = frozenset((type(None), str, bool, int, float))
_MAX_CACHED_DEPTH = 30


class _Seen:
    """A value with its repr, equal to another one only if it is the same object and unchanged."""

    __slots__ = ("shown", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.shown = value, repr(value)

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and self.value is other.value and self.shown == other.shown


def canonical_cached(value: Any) -> str:
    """Do the same as `canonical`, faster for an object that was seen before, such as a schema."""
    if type(value) is not dict or not value:
        return canonical(value)
    cached = _cached_text(_Seen(value))
    return canonical(value) if cached is None else cached


@lru_cache(maxsize=64)
def _cached_text(seen: _Seen) -> str | None:
    """Return the canonical text; None for a value that may change without changing its repr."""
    return canonical(seen.value) if _shows_all(seen.value) else None


def _shows_all(value: Any, depth: int = 0) -> bool:
    """Tell whether the repr shows everything that a value contains."""
    if depth > _MAX_CACHED_DEPTH:  # most likely a cycle
        return False
    if type(value) is dict:
        return all(type(key) is str and _shows_all(item, depth + 1) for key, item in value.items())
    if type(value) in (list, tuple):
        return all(_shows_all(item, depth + 1) for item in value)
    return type(value) in _SCALARS
