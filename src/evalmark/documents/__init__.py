"""Strict JSON and YAML: text in, plain data and the places of it out."""

from .document import DataPath, Document, document_of, load_document
from .faults import PlacedError
from .files import allowed_path, regular_file, safe_path
from .json_stream import Item, JsonStream
from .strict_json import parse_json
from .strict_yaml import YamlItem, parse_yaml, yaml_items
from .text import MAX_ROW, first_letter, known_encoding, read_text, text_chunks

__all__ = [
    "MAX_ROW",
    "DataPath",
    "Document",
    "Item",
    "JsonStream",
    "PlacedError",
    "YamlItem",
    "allowed_path",
    "document_of",
    "first_letter",
    "known_encoding",
    "load_document",
    "parse_json",
    "parse_yaml",
    "read_text",
    "regular_file",
    "safe_path",
    "text_chunks",
    "yaml_items",
]
