"""Text files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from evalmark.core.errors import EvalmarkError
from evalmark.inputs.secrets.known_secrets import mask_known_secrets


def write_atomically(path: Path, chunks: Iterable[str], what: str = "file") -> None:
    """Write text to a file by way of a temporary neighbour, synced and then renamed; missing folders are made.

    Secrets that this process knows are masked, where none of them goes over the end of a chunk. Half a surrogate pair is written as an escape. `what` names the file for the error.

    Raises:
        EvalmarkError: it cannot be written; what was there is untouched.
    """
    try:
        if path.exists() and not path.is_file():  # a device or a pipe has no neighbour to rename
            with path.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines(map(mask_known_secrets, chunks))
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
        try:
            # Who may read it is what the system says of new files: it is made to be handed on.
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
