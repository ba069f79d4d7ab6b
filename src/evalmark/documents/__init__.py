"""Strict JSON and YAML: text in, plain data and the places of it out."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .document import DataPath, Document, document_of, load_document
    from .faults import PlacedError
    from .files import allowed_path, dataset_name, local_file, open_file, regular_file, what_is
    from .json_stream import Item, JsonStream
    from .known import MASK, forget, remember, secrets_of, without_key, without_known
    from .masking import in_every_text, masked, masked_data
    from .secrets import secrets_in, without_secrets
    from .strict_json import parse_json
    from .strict_yaml import YamlItem, parse_yaml, yaml_items
    from .text import MAX_ROW, first_letter, known_encoding, numbered_lines, read_text, text_chunks
    from .top import top_keys
    from .whole import write_whole

__all__ = [
    "MASK",
    "MAX_ROW",
    "DataPath",
    "Document",
    "Item",
    "JsonStream",
    "PlacedError",
    "YamlItem",
    "allowed_path",
    "dataset_name",
    "document_of",
    "first_letter",
    "forget",
    "in_every_text",
    "known_encoding",
    "load_document",
    "local_file",
    "masked",
    "masked_data",
    "numbered_lines",
    "open_file",
    "parse_json",
    "parse_yaml",
    "read_text",
    "regular_file",
    "remember",
    "secrets_in",
    "secrets_of",
    "text_chunks",
    "top_keys",
    "what_is",
    "without_key",
    "without_known",
    "without_secrets",
    "write_whole",
    "yaml_items",
]

__getattr__ = deferred(
    __name__,
    {
        "MASK": "known",
        "forget": "known",
        "remember": "known",
        "secrets_of": "known",
        "without_key": "known",
        "without_known": "known",
        "in_every_text": "masking",
        "masked": "masking",
        "masked_data": "masking",
        "DataPath": "document",
        "Document": "document",
        "Item": "json_stream",
        "JsonStream": "json_stream",
        "MAX_ROW": "text",
        "PlacedError": "faults",
        "YamlItem": "strict_yaml",
        "allowed_path": "files",
        "dataset_name": "files",
        "document_of": "document",
        "first_letter": "text",
        "known_encoding": "text",
        "load_document": "document",
        "numbered_lines": "text",
        "parse_json": "strict_json",
        "parse_yaml": "strict_yaml",
        "read_text": "text",
        "local_file": "files",
        "open_file": "files",
        "regular_file": "files",
        "secrets_in": "secrets",
        "without_secrets": "secrets",
        "text_chunks": "text",
        "top_keys": "top",
        "what_is": "files",
        "write_whole": "whole",
        "yaml_items": "strict_yaml",
    },
)
