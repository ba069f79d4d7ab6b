"""Read what agent frameworks return as an `Output` with its transcript."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.runs.transcripts.langchain import from_langchain
    from evalmark.runs.transcripts.openai import from_openai
    from evalmark.runs.transcripts.openai_agents import from_openai_agents
    from evalmark.runs.transcripts.pydantic_ai import from_pydantic_ai

__all__ = [
    "from_langchain",
    "from_openai",
    "from_openai_agents",
    "from_pydantic_ai",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "from_langchain": "evalmark.runs.transcripts.langchain",
        "from_openai": "evalmark.runs.transcripts.openai",
        "from_openai_agents": "evalmark.runs.transcripts.openai_agents",
        "from_pydantic_ai": "evalmark.runs.transcripts.pydantic_ai",
    },
)
