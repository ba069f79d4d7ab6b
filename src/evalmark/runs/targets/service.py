"""HTTP services and commands as targets: templates make the request of a case, JSONPaths read the output."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from evalmark.core.errors import ConfigError, ModelCallError, TargetCallError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Case, Output, ToolCall, Turn, Usage
from evalmark.core.values.plain_data import canonical, fingerprint, plain
from evalmark.inputs.documents.json_query import missing_part, query_json, response_json
from evalmark.inputs.suites.services import SUITE_FOLDER
from evalmark.models.providers.replies import tool_call

if TYPE_CHECKING:
    from evalmark.prompts.templates import interpreter
    from evalmark.prompts.templates import template as template_module
else:  # they load jinja2, which a run without a service does not need
    interpreter = LazyModule("evalmark.prompts.templates.interpreter")
    template_module = LazyModule("evalmark.prompts.templates.template")

CASE_VALUES = ("input", "id", "history", "contexts", "metadata")
"""The variables of templates. The expected output is not among them."""


@dataclass(frozen=True, kw_only=True)
class ServiceTarget:
    """A service or a command: one request for each trial, through the middleware of a model."""

    name: str
    kind: Literal["http", "command"]
    model: ChatModel
    """The service or the program."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Templates: `url` and `method` of a service, `arguments` of a command; and `headers` without secrets."""
    body: Any = None
    """A template, data whose texts are templates, or None: the input of the case."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """The JSONPath of each part of the response."""

    @property
    def fingerprint(self) -> str:
        """Changes with the address or the command, its program, its workspace and the settings of the suite."""
        return fingerprint(self.model.identity, self.settings, self.body, self.queries)

    @property
    def brings_contexts(self) -> bool:
        """Whether responses have contexts."""
        return "contexts" in self.queries

    async def __call__(self, case: Case) -> Output:
        """Send the request of a case and return the output.

        Raises:
            ConfigError: the case lacks a value that a template needs.
            TargetCallError: the call failed.
            RunStoppedError: no further call may be made in this run.
        """
        started = time.perf_counter()
        try:
            reply = await self.model(self.request(case))
        except ModelCallError as error:
            failed = TargetCallError(str(error), fault=error.fault)
            failed.__dict__.update(error.__dict__)
            raise failed from error
        waited = None
        if reply.seconds is not None and not reply.replayed:
            waited = max(0.0, time.perf_counter() - started - reply.seconds)
        return self.output(reply, waited)

    def unfit(self, case: Case) -> str | None:
        """Return why no request can be made of a case, or None if it can."""
        try:
            self.request(case)
        except ConfigError as fault:
            return str(fault)
        return None

    def request(self, case: Case) -> Request:
        """Build the request of a case.

        Raises:
            ConfigError: the case lacks a value that a template needs.
        """
        values = {name: plain(getattr(case, name)) for name in CASE_VALUES}
        values = {name: value for name, value in values.items() if value is not None}
        settings = dict(self.settings)
        if self.kind == "command":
            values["suite_folder"] = SUITE_FOLDER
            settings["arguments"] = [_text(word, values) for word in settings["arguments"]]
            content = values.get("input", "") if self.body is None else _filled(self.body, values)
        else:
            settings["url"] = _text(settings["url"], values, is_address=True).replace(" ", "%20")
            content = self._http_body(values)
            if isinstance(content, str) and settings["method"] != "GET":
                settings["content_type"] = "text/plain; charset=utf-8"
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return Request(messages=(Turn(role="user", content=text),), settings=settings)

    def _http_body(self, values: Mapping[str, Any]) -> Any:
        """Return the body: that of the suite, else the input as JSON, as a mapping."""
        if self.settings["method"] == "GET":
            return ""
        if self.body is not None:
            return _filled(self.body, values)
        given = values.get("input")
        return given if isinstance(given, dict) else {"input": given}

    def output(self, reply: Reply, waited: float | None) -> Output:
        """Read the output of a reply."""
        try:
            parts = {name: query_json(query, response_json(reply.text)) for name, query in self.queries.items()}
        except (LookupError, ValueError):  # a recorded response, in which the suite now looks for other parts
            fault = missing_part(reply.text, self.queries)
            return Output(
                error=f"{self.name}: the recorded response lacks a part: {fault}. Run again with --replay record.",
                seconds=reply.seconds,
            )
        metadata = {"calls": [reply.key] if reply.key else [], "workspace": reply.data}
        return Output(
            value=parts["output"] if "output" in parts else self._whole(reply.text),
            error="the response was empty" if reply.status == "empty" else None,
            seconds=reply.seconds,
            waited=waited,
            contexts=_texts(parts.get("contexts")),
            tool_calls=_tool_calls(parts.get("tool_calls")),
            usage=None if reply.usage == Usage() else reply.usage,
            metadata={name: value for name, value in metadata.items() if value},
        )

    def _whole(self, text: str) -> Any:
        """Return the whole response: data of a service that sends JSON, else the text."""
        if self.kind == "command":
            return text.rstrip("\r\n")
        try:
            return response_json(text)
        except ValueError:
            return text


def template_faults(settings: Any) -> list[str]:
    """Return what is wrong with the templates in the settings of a target."""
    if isinstance(settings, Mapping):
        return [fault for value in settings.values() for fault in template_faults(value)]
    if isinstance(settings, (list, tuple)):
        return [fault for value in settings for fault in template_faults(value)]
    if not isinstance(settings, str):
        return []
    try:
        names = [name for name, _ in template_module.template_of(settings).variables]
    except template_module.BrokenTemplateError as fault:
        return [f"{settings!r:.80}: {fault.sentence}"]
    known = (*CASE_VALUES, "suite_folder")
    return [
        f"{{{{{name}}}}} is not a value of a case; there are {', '.join(CASE_VALUES)}, and parts such as input.question."
        for name in names
        if name not in known
    ]


def _filled(body: Any, values: Mapping[str, Any]) -> Any:
    """Fill the templates in data; a text that is one variable becomes its value, whatever its type."""
    if isinstance(body, Mapping):
        return {str(name): _filled(value, values) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, values) for value in body]
    if not isinstance(body, str):
        return body
    inner = body.strip()
    if inner.startswith("{{") and inner.endswith("}}") and inner.count("{{") == 1:
        return _value(inner[2:-2].strip(), body, values)
    return _text(body, values)


def _value(expression: str, template: str, values: Mapping[str, Any]) -> Any:
    """Return the value of a variable or of a part of one; anything else is rendered as text."""
    found: Any = values
    for part in expression.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return _text(template, values)
        found = found[part]
    return found


def _text(template: str, values: Mapping[str, Any], *, is_address: bool = False) -> str:
    """Fill a template; in an address, values are percent-encoded.

    Raises:
        ConfigError: a value is missing, or the template cannot use it.
    """
    try:
        rendered = interpreter.render_template(template, values, interpreter.RenderBudget())
    except template_module.BrokenTemplateError as fault:
        raise ConfigError(f"{template!r:.80}: {fault.sentence}") from None
    if rendered.missing:
        raise ConfigError(f"{{{{{next(iter(rendered.missing))}}}}} has no value in this case; add it to the row.")
    pieces = [
        str(piece) if isinstance(piece, interpreter.TemplateText) or not is_address else quote(str(piece), safe="")
        for piece in rendered.pieces
    ]
    return "".join(pieces)


def _texts(found: Any) -> tuple[str, ...] | None:
    if found is None:
        return None
    items = found if isinstance(found, list) else [found]
    return tuple(item if isinstance(item, str) else canonical(item) for item in items)


def _tool_calls(found: Any) -> tuple[ToolCall, ...]:
    """Read tool calls: mappings with `name` and `arguments` (or `input`), also within OpenAI's `function`."""
    calls = (
        [call.get("function", call) for call in found if isinstance(call, Mapping)] if isinstance(found, list) else []
    )
    return tuple(
        tool_call(call["name"], call.get("arguments", call.get("input")))
        for call in calls
        if isinstance(call, Mapping) and "name" in call
    )
