"""Convert the providers of a promptfoo config to models."""

from typing import Any

from evalmark.core.values.plain_data import canonical, plain
from evalmark.inputs.documents.document import Document
from evalmark.inputs.documents.json_walk import json_path
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.items import dict_or_empty, list_or_empty
from evalmark.interop.shared.model_names import CODE, from_promptfoo

Data = dict[str, Any]
_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "seed": "seed", "stop": "stop"}
_NO_EFFECT = ("label", "delay", "apiKey", "apiKeyEnvar", "maxRetries", "organization")
"""Keys of a provider that do not change its replies."""


def add_providers(document: Document, data: Data, at: tuple[str, ...], builder: ImportBuilder) -> None:
    """Add the models of a config to the import, with their settings."""
    key = "targets" if "targets" in data else "providers"
    providers = data.get(key)
    settings: list[Data] = []
    for number, row in enumerate([providers] if isinstance(providers, (str, dict)) else list_or_empty(providers)):
        where = f"{document.place_of((*at, key, number))} {json_path((*at, key, number))}"
        name, config = _provider(row)
        model = from_promptfoo(name)
        if model is None:
            is_code = name.startswith(CODE) or name.lower().partition(":")[0].endswith(CODE)
            why = (
                "it is code; name a Python function as the target"
                if is_code
                else "evalmark does not support this provider"
            )
            builder.part(where, "left out", f"{name!r:.60}: {why}")
            continue
        builder.models.append(model)
        builder.part(where, "kept", f"the model {model}")
        settings.append({_SETTINGS[k]: v for k, v in config.items() if k in _SETTINGS and v is not None})
        more = row if isinstance(row, dict) and "id" in row else {}
        for other in (
            *(key for key in more if key not in ("id", "config")),
            *(k for k in config if k not in _SETTINGS),
        ):
            is_idle = other in _NO_EFFECT
            why = (
                "it changes no output"
                if is_idle
                else "keys and addresses belong in the environment, settings in the suite"
            )
            builder.part(f"{where} {other}", "no effect" if is_idle else "left out", why)
    if settings and all(canonical(row) == canonical(settings[0]) for row in settings):
        builder.settings = settings[0]
    elif any(settings):
        why = "the models have different settings, and a suite has one for all: write a suite for each"
        builder.part(f"{document.place_of((*at, key))} {key}", "left out", why)


def _provider(row: Any) -> tuple[str, Data]:
    if isinstance(row, str):
        return row, {}
    if isinstance(row, dict) and isinstance(row.get("id"), str):
        return row["id"], dict_or_empty(row.get("config"))
    if isinstance(row, dict) and len(row) == 1:
        name, inner = next(iter(row.items()))
        return str(name), dict_or_empty(dict_or_empty(inner).get("config"))
    return str(plain(row))[:60], {}
