"""Stores vectors by model and text, so that no text is embedded twice."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalmark.core.lazy import need
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.schema import transaction

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors

_NUMBERS = "<f4"
_SIZE = 4
"""Bytes of a number."""


def get(db: Connection, fingerprint: str, texts: Sequence[str]) -> "dict[str, Vectors]":
    """Return the stored vectors of some texts; a damaged vector counts as missing."""
    numpy = need("numpy")  # loaded here, because most runs use no vectors
    vectors: dict[str, Vectors] = {}
    of_model = _model(fingerprint)
    with db:  # one read transaction for all texts is twice as fast as one for each
        for text in texts:
            blob = db.execute("select numbers from vector where key = ?", (_key(of_model, text),)).get
            if isinstance(blob, bytes) and len(blob) % _SIZE == 0:
                vectors[text] = numpy.frombuffer(blob, dtype=_NUMBERS)
    return vectors


def put(db: Connection, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
    """Store vectors."""
    numpy = need("numpy")
    of_model = _model(fingerprint)
    with transaction(db):
        db.executemany(
            "insert into vector (key, numbers) values (?, ?) on conflict (key) do update set numbers = excluded.numbers",
            ((_key(of_model, text), numpy.asarray(v, dtype=_NUMBERS).tobytes()) for text, v in vectors.items()),
        )


def _model(fingerprint: str) -> "hashlib._Hash":
    name = fingerprint.encode(errors="surrogatepass")
    return hashlib.sha256(len(name).to_bytes(8, "big") + name)


def _key(of_model: "hashlib._Hash", text: str) -> bytes:
    digest = of_model.copy()
    digest.update(text.encode(errors="surrogatepass"))
    return digest.digest()
