"""Write text files atomically."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from evalmark.core.errors import EvalmarkError
from evalmark.inputs.secrets.known_secrets import mask_known_secrets


def write_atomically(path: Path, chunks: Iterable[str], what: str = "file") -> None:
    """Write text to a temporary file, sync it and rename it; missing folders are made.

    Known secrets are masked, unless one crosses the end of a chunk. Lone surrogates are written as escapes.

    Args:
        path: the file to replace.
        chunks: pieces of its text.
        what: names the file in the error.

    Raises:
        EvalmarkError: the file cannot be written; an existing file is unchanged.
    """
    try:
        if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced by renaming
            with path.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines(map(mask_known_secrets, chunks))
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
        try:
            # The file has the system's default permissions, since it is made to be shared.
            with draft.open("x", encoding="utf-8", errors="backslashreplace", newline="") as stream:
                stream.writelines(map(mask_known_secrets, chunks))
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise EvalmarkError(f"{path}: the {what} cannot be written: {error.strerror or error}.") from error
