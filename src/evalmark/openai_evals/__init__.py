"""Evals of OpenAI: the API that Microsoft Foundry speaks too, and the registry of the open-source openai/evals."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .bodies import to_openai_evals
    from .posting import Posted, post_evals, service
    from .reading import import_openai_evals
    from .registry import to_openai_registry
    from .registry_reading import import_openai_registry

__all__ = [
    "Posted",
    "import_openai_evals",
    "import_openai_registry",
    "post_evals",
    "service",
    "to_openai_evals",
    "to_openai_registry",
]

__getattr__ = deferred(
    __name__,
    {
        "Posted": "posting",
        "import_openai_evals": "reading",
        "import_openai_registry": "registry_reading",
        "post_evals": "posting",
        "service": "posting",
        "to_openai_evals": "bodies",
        "to_openai_registry": "registry",
    },
)
