"""A memory for chains under test: it returns the inputs of the case, and remembers nothing."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from evalmark.core.lazy import need

_BASES = (("langchain_classic.base_memory", "BaseMemory"), ("langchain_core.memory", "BaseMemory"))
"""Where the versions of LangChain keep the class that chains want a memory to be of."""
_MESSAGES = {
    "human": "HumanMessage",
    "user": "HumanMessage",
    "ai": "AIMessage",
    "assistant": "AIMessage",
    "system": "SystemMessage",
}

Inputs = Callable[[], Any]
"""Gives the inputs of the case that is being tested."""


class TestMemory:
    """A memory with LangChain's protocol that returns the inputs of the current case."""

    __test__: ClassVar[bool] = False  # pytest would take the class for tests

    def __init__(self, inputs: Inputs, memory_key: str) -> None:
        self._inputs = inputs
        self.memory_key = memory_key

    @property
    def memory_variables(self) -> list[str]:
        """The names of the inputs, and its own key."""
        return _names(self._inputs(), self.memory_key)

    def load_memory_variables(self, inputs: Any = None) -> dict[str, Any]:
        """Return the inputs of the case; an empty list under its key where they have none."""
        return _loaded(self._inputs(), self.memory_key)

    def save_context(self, inputs: Any, outputs: Any) -> None:
        """Do nothing: each case has its own history."""

    def clear(self) -> None:
        """Do nothing: there is nothing to forget."""

    async def aload_memory_variables(self, inputs: Any = None) -> dict[str, Any]:
        """As `load_memory_variables`."""
        return self.load_memory_variables(inputs)

    async def asave_context(self, inputs: Any, outputs: Any) -> None:
        """As `save_context`."""

    async def aclear(self) -> None:
        """As `clear`."""


class LangChainTools:
    """Helpers of a unit test for chains of LangChain."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._made: dict[str, Any] = {}

    def get_test_memory(self, memory_key: str = "history") -> Any:
        """Return a memory with the inputs of the current case; the same object for the same key.

        Where a version of LangChain is loaded whose chains want a memory of their own class, it is of that class.
        """
        if memory_key not in self._made:
            base = _base()
            made = TestMemory(self._inputs, memory_key) if base is None else _of_class(base, self._inputs, memory_key)
            self._made[memory_key] = made
        return self._made[memory_key]


def _base() -> type | None:
    """Return LangChain's base class of memories, if it is loaded."""
    for module, name in _BASES:
        if module in sys.modules and (found := getattr(sys.modules[module], name, None)) is not None:
            kept: type = found
            return kept
    return None


def _of_class(base: type, inputs: Inputs, memory_key: str) -> Any:
    plain = TestMemory(inputs, memory_key)

    def load(self: Any, inputs: Any = None) -> dict[str, Any]:
        return plain.load_memory_variables(inputs)

    body = {
        "__test__": False,
        "__annotations__": {"__test__": ClassVar[bool], "memory_key": str},
        "__module__": __name__,
        "memory_key": memory_key,
        "memory_variables": property(lambda self: plain.memory_variables),
        "load_memory_variables": load,
        "save_context": lambda self, inputs, outputs: None,
        "clear": lambda self: None,
    }
    return type("TestMemory", (base,), body)()


def _names(given: Any, key: str) -> list[str]:
    names = list(given) if isinstance(given, Mapping) else []
    return names if key in names else [*names, key]


def _loaded(given: Any, key: str) -> dict[str, Any]:
    found = {name: _history(value) for name, value in given.items()} if isinstance(given, Mapping) else {}
    return found if key in found else {**found, key: []}


def _history(value: Any) -> Any:
    """Return a list of pairs as tuples, a list of `{role, text}` as messages, and other values unchanged."""
    if not isinstance(value, list) or not value:
        return value
    if all(isinstance(turn, (list, tuple)) and len(turn) == 2 for turn in value):
        return [tuple(turn) for turn in value]
    if all(isinstance(turn, Mapping) and "role" in turn and ("text" in turn or "content" in turn) for turn in value):
        return [_message(turn) for turn in value]
    return value


def _message(turn: Mapping[str, Any]) -> Any:
    """Return a message of LangChain, if it is loaded and knows the role; else the turn unchanged."""
    made = _MESSAGES.get(str(turn["role"]).lower())
    if made is None or "langchain_core" not in sys.modules:
        return turn
    messages = need("langchain_core.messages", "langchain")
    return getattr(messages, made)(content=turn.get("text", turn.get("content")))
