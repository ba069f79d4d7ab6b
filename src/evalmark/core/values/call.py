"""One request to a model and what came back: the line of the journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .case import ToolCall, Turn
from .coming_again import text_again
from .plain_data import canonical, digest_of, fingerprint_of_texts, short_digest
from .usage import Usage

if TYPE_CHECKING:
    from hashlib import _Hash

ReplyStatus = Literal["ok", "truncated", "refused", "filtered", "empty"]
ReplyForm = Literal["", "schema", "tool", "text"]

KEY_VERSION = "call-1"
"""Part of every key; a new way to make keys gets a new one, and old recordings are simply not found."""


RESERVED_SETTINGS = frozenset(("contents", "messages", "model", "n", "stream"))
"""What a request says itself: as a setting, it would have another model asked, or another question, than is recorded."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a chat model, in no provider's words."""

    messages: tuple[Turn, ...]
    """System messages may stand anywhere; a provider that wants them apart takes them out."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the one object wanted back; None asks for free text."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, `max_tokens`, `seed`, `stop`; None is left out. Others go to the provider as they are."""
    logprobs: int = 0
    """How many of the likeliest tokens to report for each place; 0 asks for none."""

    @cached_property
    def hash(self) -> str:
        """Changes whenever the model could answer differently; without the model itself."""
        return fingerprint_of_texts((canonical(KEY_VERSION), *self.texts))

    @cached_property
    def texts(self) -> tuple[str, str, str, str]:
        """The canonical JSON of messages, schema, settings and logprobs: made once, for the key and for the journal."""
        return (
            _canonical_messages(self.messages),
            text_again(self.schema),
            canonical(_effective_settings(self.settings)) if self.settings else "{}",
            canonical(self.logprobs),
        )

    def key(self, identity: str, repeat: int = 0, use: int = 0) -> str:
        """The key of this request in the journal: who is asked, what, for the which repeat, for the which time in a trial."""
        digest = _key_prefix(identity).copy()
        digest_of((canonical(self.hash),), digest)
        return f"{short_digest(digest)}-{repeat}-{use}"


@lru_cache(maxsize=256)
def _key_prefix(identity: str) -> "_Hash":
    """How the digest of every key of a model begins: there are a few models and thousands of requests."""
    return digest_of((canonical(KEY_VERSION), canonical(identity)))


def _canonical_messages(messages: Sequence[Turn]) -> str:
    """The canonical JSON of messages, put together where they are texts, as nearly all are."""
    said = []
    for turn in messages:
        if not (type(turn) is Turn and type(turn.content) is str and type(turn.role) is str):
            return canonical(messages)
        said.append(f'{{"content":{canonical(turn.content)},"role":{canonical(turn.role)}}}')
    return f"[{','.join(said)}]"


def _effective_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings as they reach the provider: without those that say nothing, and 1.0 is 1."""
    said = ((name, value) for name, value in settings.items() if value is not None)
    return {name: int(value) if type(value) is float and value.is_integer() else value for name, value in said}


class Token(NamedTuple):
    """One token of a reply with its natural log probability, and those of the likeliest others in its place."""

    text: str
    logprob: float
    others: tuple[tuple[str, float], ...] = ()


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One time a request went out and did not come back with a reply."""

    seconds: float
    error: str
    """One line: what went wrong."""
    status: int | None = None
    """The HTTP status; None when there was no response."""
    body: str = ""
    """The first 4,096 characters of the response, where there was one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and what it took."""

    text: str = ""
    status: ReplyStatus = "ok"
    """`truncated`: cut by a length limit; `refused`; `filtered`: by the provider; `empty`: no text, no tool call, no data."""
    data: Any = None
    """The object asked for by `Request.schema`; None when none could be read, and the text then holds what was said."""
    form: ReplyForm = ""
    """How the object was asked for: native JSON schema, a tool call, or in the prompt; empty when none was wanted."""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    cost: float | None = None
    """US dollars; None when the price or the usage is not known."""
    model: str = ""
    """The model that answered, as the provider names it; may differ from the one asked for."""
    system_fingerprint: str = ""
    seconds: float | None = None
    """Wall time of the attempt that succeeded."""
    attempts: tuple[Attempt, ...] = ()
    """Those that failed before it."""
    tokens: tuple[Token, ...] = ()
    """With their probabilities, where they were asked for and given."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those of the response that are on an allow-list: request id, limits, dates."""
    key: str = ""
    """Where the journal keeps it."""
    replayed: bool = False
    """Whether it came from the journal and cost nothing now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request and what came of it: a reply, or an error."""

    key: str
    model: str
    """As the user named it."""
    identity: str
    """Which model at which endpoint: what the key was made with."""
    request: Request
    repeat: int = 0
    use: int = 0
    reply: Reply | None = None
    error: str | None = None
    created: str = ""
    """ISO 8601 in UTC."""
    altered: bool = False
    """Whether the key was made of more than stands here: of a request from which a secret was taken out since."""
    masked: bool = False
    """Whether a secret was taken out of the reply."""

    @property
    def can_be_replayed(self) -> bool:
        """Whether the reply may stand for the truth: errors, truncated, refused, filtered, empty and masked ones may not."""
        return self.reply is not None and self.reply.status == "ok" and not self.masked

    @property
    def computed_key(self) -> str:
        """The key that follows from what stands here; another than `key` where the request was altered."""
        return self.request.key(self.identity, self.repeat, self.use)

    @property
    def replayed(self) -> Reply | None:
        """The reply as one that is replayed; None where it may not stand for the truth."""
        if self.reply is None or not self.can_be_replayed:
            return None
        return replace(self.reply, key=self.key, replayed=True)
