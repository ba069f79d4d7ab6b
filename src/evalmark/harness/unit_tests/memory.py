"""A memory for chains under test: it returns the inputs of the case, and stores nothing."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from evalmark.core.lazy import need

_BASES = (("langchain_classic.base_memory", "BaseMemory"), ("langchain_core.memory", "BaseMemory"))
"""Modules of LangChain's versions with the required base class of memories."""
_MESSAGES = {
    "human": "HumanMessage",
    "user": "HumanMessage",
    "ai": "AIMessage",
    "assistant": "AIMessage",
    "system": "SystemMessage",
}

Inputs = Callable[[], Any]
"""Returns the inputs of the current case."""


class TestMemory:
    """A memory with LangChain's protocol that returns the inputs of the current case."""

    __test__: ClassVar[bool] = False  # pytest would take the class for tests

    def __init__(self, inputs: Inputs, memory_key: str) -> None:
        self._inputs = inputs
        self.memory_key = memory_key

    @property
    def memory_variables(self) -> list[str]:
        """The names of the inputs, and its own key."""
        return _variable_names(self._inputs(), self.memory_key)

    def load_memory_variables(self, inputs: Any = None) -> dict[str, Any]:
        """Return the inputs of the case; the memory key is an empty list if they lack it."""
        return _variables(self._inputs(), self.memory_key)

    def save_context(self, inputs: Any, outputs: Any) -> None:
        """Do nothing: each case has its own history."""

    def clear(self) -> None:
        """Do nothing: nothing is stored."""

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
        self._memories: dict[str, Any] = {}

    def get_test_memory(self, memory_key: str = "history") -> Any:
        """Return a memory with the inputs of the current case; the same object for the same key.

        If the loaded version of LangChain requires a base class for memories, the memory has that class.

        Args:
            memory_key: The name of the input that the memory fills.

        Returns:
            An object for `memory=` of a chain.
        """
        if memory_key not in self._memories:
            base = _base()
            memory = TestMemory(self._inputs, memory_key)
            self._memories[memory_key] = memory if base is None else _with_base(base, memory)
        return self._memories[memory_key]


def _base() -> type | None:
    """Return LangChain's base class of memories, if it is loaded."""
    for module, name in _BASES:
        base: type | None = getattr(sys.modules.get(module), name, None)
        if base is not None:
            return base
    return None


def _with_base(base: type, plain: TestMemory) -> Any:
    def load(self: Any, inputs: Any = None) -> dict[str, Any]:
        return plain.load_memory_variables(inputs)

    body = {
        "__test__": False,
        "__annotations__": {"__test__": ClassVar[bool], "memory_key": str},
        "__module__": __name__,
        "memory_key": plain.memory_key,
        "memory_variables": property(lambda self: plain.memory_variables),
        "load_memory_variables": load,
        "save_context": lambda self, inputs, outputs: None,
        "clear": lambda self: None,
    }
    return type("TestMemory", (base,), body)()


def _variable_names(inputs: Any, key: str) -> list[str]:
    names = list(inputs) if isinstance(inputs, Mapping) else []
    return names if key in names else [*names, key]


def _variables(inputs: Any, key: str) -> dict[str, Any]:
    values = {name: _history(value) for name, value in inputs.items()} if isinstance(inputs, Mapping) else {}
    return values if key in values else {**values, key: []}


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
    """Return the turn as a message of LangChain; unchanged if LangChain is not loaded or lacks the role."""
    name = _MESSAGES.get(str(turn["role"]).lower())
    if name is None or "langchain_core" not in sys.modules:
        return turn
    messages = need("langchain_core.messages", "langchain")
    return getattr(messages, name)(content=turn.get("text", turn.get("content")))
