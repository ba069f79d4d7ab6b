"""Variables from a file such as `.env`, read only where a flag or a setting names it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.core.settings import Settings, load_settings


def settings_with_env_file(folder: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """Load the settings, and the variables of the file that the setting `env_file` names.

    The variables are set in the environment of this process; those that are set there already stay.

    Args:
        folder: the working directory.
        flags: the values from the command line; None values are ignored.

    Raises:
        ConfigError: a setting is invalid, or the file cannot be read.
    """
    settings = load_settings(os.environ, folder, flags)
    if not settings.env_file:
        return settings
    for name, value in read_env_file(Path(settings.env_file)).items():
        os.environ.setdefault(name, value)
    return load_settings(os.environ, folder, flags)  # the file may contain variables of evalmark


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file; names without a value are left out.

    Raises:
        ConfigError: there is no such file, it is not text, or a value contains a null character.
    """
    if path.is_dir():  # which the parser would take for an empty file
        raise ConfigError(f"{path}: the env file cannot be read: it is a folder. Check --env-file.")
    try:
        found = need("dotenv").dotenv_values(path.resolve(strict=True), encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: the env file cannot be read: {error.strerror}. Check --env-file.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the env file is not UTF-8. Save it as UTF-8.") from None
    if wrong := [name for name, value in found.items() if not name or "=" in name or "\0" in f"{name}{value}"]:
        raise ConfigError(f"{path}: {wrong[0]!r} cannot be a variable. Write NAME=value on each line.")
    return {name: value for name, value in found.items() if value is not None}
