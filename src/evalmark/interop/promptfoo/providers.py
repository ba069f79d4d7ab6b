"""Convert the providers of a promptfoo config to the targets of a suite."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.plain_data import plain
from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.files import allowed_path
from evalmark.inputs.documents.json_walk import json_path
from evalmark.interop.shared.import_builder import ImportBuilder, PromptText, TargetDraft
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.interop.shared.items import dict_or_empty, list_or_empty

from .services import service_targets
from .settings import ProviderRow, UnsupportedProviderError, model_of, model_settings
from .templates import is_template

Data = dict[str, Any]
_ROW_KEYS = ("id", "config", "label", "prompts", "env", "delay", "inputs", "transform")
_FILES = (".yaml", ".yml", ".json")


def add_providers(
    document: Document, data: Data, at: tuple[str, ...], builder: ImportBuilder, options: ImportOptions
) -> None:
    """Add the targets of a config to the import: every provider with every prompt, unless it names its prompts."""
    key = "targets" if "targets" in data else "providers"
    used: set[str] = set()
    refused: list[str] = []
    for provider in _providers(document, data.get(key), (*at, key), builder):
        try:
            drafts = list(_drafts(provider, document, builder, options, used))
        except UnsupportedProviderError as why:
            refused.append(provider.name)
            builder.part(provider.where, "left out", f"{provider.name!r:.60}: {why}")
            continue
        builder.targets += drafts
    for name in options.providers.keys() - used:
        builder.remark(f"--map-provider {name}: the config has no such provider.")
    builder.lacks_target = "" if builder.targets else _lacking(builder, refused)


def _lacking(builder: ImportBuilder, refused: list[str]) -> str:
    if builder.prompts and refused:
        names = ", ".join(f"{name:.60}" for name in dict.fromkeys(refused))
        return (
            f"none of its providers can be imported ({names}). Name a model in place of one: "
            f"--map-provider '{refused[0]:.60}=openai/NAME'"
        )
    if builder.prompts:
        return (
            "it names no provider, so there is nothing to send the prompts to. Add one under `providers` in the file."
        )
    return "none of its prompts can be imported, and a suite without them would send something else."


def _providers(document: Document, value: Any, at: DataPath, builder: ImportBuilder) -> Iterator[ProviderRow]:
    """Yield the providers, also those in files that the config names."""
    rows = [value] if isinstance(value, (str, dict)) else list_or_empty(value)
    for number, row in enumerate(rows):
        place = (*at, number) if isinstance(value, list) else at
        where = f"{document.place_of(place)} {json_path(place)}"
        if isinstance(row, str) and row.startswith("file://") and row.lower().endswith(_FILES):
            yield from _of_file(row.removeprefix("file://"), document, where, builder)
        elif not (isinstance(row, dict) and row.get("id") is None and len(row) != 1):
            yield _provider(row, where)
        else:
            builder.part(where, "left out", "the provider has no `id`")


def _of_file(name: str, document: Document, where: str, builder: ImportBuilder) -> Iterator[ProviderRow]:
    folder = document.path.parent
    try:
        data = load_document(allowed_path(name, folder, folder)).data
    except DataError as error:
        builder.part(where, "left out", f"its file cannot be read: {error}")
        return
    for row in data if isinstance(data, list) else [data]:
        yield _provider(row, where)


def _provider(row: Any, where: str) -> ProviderRow:
    if isinstance(row, dict) and len(row) == 1 and "id" not in row:
        name, inner = next(iter(row.items()))
        row = {"id": str(name), **dict_or_empty(inner)}
    if not isinstance(row, dict):
        row = {"id": row if isinstance(row, str) else str(plain(row))[:60]}
    label = row.get("label")
    return ProviderRow(
        name=str(row["id"]).strip(),
        label=str(label) if isinstance(label, str) and not is_template(label) else "",
        config=dict_or_empty(row.get("config")),
        row=row,
        where=where,
    )


def _drafts(
    provider: ProviderRow, document: Document, builder: ImportBuilder, options: ImportOptions, used: set[str]
) -> Iterator[TargetDraft]:
    """Yield the targets of a provider, one for each of its prompts."""
    prompts = _prompts_of(provider, builder)
    if (mapped := _replacement(provider, options, used)) is not None:
        builder.part(provider.where, "changed", f"the model {mapped} in its place, as --map-provider says")
        settings = model_settings(provider, document, builder, is_replaced=True)
        yield from _with_prompts(TargetDraft(spec=_model_spec(mapped, settings), name=provider.label), prompts)
        return
    if provider.row.get("transform") is not None:
        raise UnsupportedProviderError("its `transform` is code that changes the output")
    for key in [key for key in provider.row if key not in _ROW_KEYS]:
        builder.part(f"{provider.where} {key}", "left out", "evalmark does not support it for one provider")
    model = model_of(provider.name, provider.config)
    if model is None:
        yield from service_targets(provider, prompts, document, builder, options)
        return
    builder.part(provider.where, "kept", f"the model {model}")
    settings = model_settings(provider, document, builder)
    yield from _with_prompts(TargetDraft(spec=_model_spec(model, settings), name=provider.label), prompts)


def _model_spec(model: str, settings: Data) -> Data:
    return {"model": model, **({"settings": settings} if settings else {})}


def _with_prompts(draft: TargetDraft, prompts: list[PromptText]) -> Iterator[TargetDraft]:
    for prompt in prompts:
        yield TargetDraft(spec=draft.spec, name=draft.name, prompt=prompt)


def _prompts_of(provider: ProviderRow, builder: ImportBuilder) -> list[PromptText]:
    """Return the prompts that a provider gets: those with one of its labels, or all."""
    prompts = provider.row.get("prompts")
    labels = [prompts] if isinstance(prompts, str) else [str(label) for label in list_or_empty(prompts)]
    if not labels:
        return builder.prompts
    chosen = [
        prompt
        for prompt in builder.prompts
        if any(prompt.name == label or (label.endswith("*") and prompt.name.startswith(label[:-1])) for label in labels)
    ]
    if not chosen and builder.prompts:
        raise UnsupportedProviderError(f"its `prompts` name none of the prompts: {', '.join(labels)[:80]}")
    return chosen


def _replacement(provider: ProviderRow, options: ImportOptions, used: set[str]) -> str | None:
    """Return the model that the user names for a provider, by its id, its label or a pattern such as `bedrock:*`."""
    names: Mapping[str, str] = options.providers
    for old in names:
        if old in (provider.name, provider.label):
            used.add(old)
            return names[old]
    for old in names:
        if fnmatchcase(provider.name, old):
            used.add(old)
            return names[old]
    return None
