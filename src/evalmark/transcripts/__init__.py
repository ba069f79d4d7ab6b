"""What an agent said and did, out of the forms in which frameworks keep it; none of them is imported."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .langchain import from_langchain, is_message
    from .openai import from_openai
    from .openai_agents import from_openai_agents
    from .pydantic_ai import from_pydantic_ai
    from .recognition import recognised

__all__ = [
    "from_langchain",
    "from_openai",
    "from_openai_agents",
    "from_pydantic_ai",
    "is_message",
    "recognised",
]

__getattr__ = deferred(
    __name__,
    {
        "from_langchain": "langchain",
        "from_openai": "openai",
        "from_openai_agents": "openai_agents",
        "from_pydantic_ai": "pydantic_ai",
        "is_message": "langchain",
        "recognised": "recognition",
    },
)
