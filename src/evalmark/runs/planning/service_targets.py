"""The targets of a suite that are HTTP services or commands, and which commands a suite may name."""

import re
import shlex
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.protocols import Target
from evalmark.core.text import one_line
from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.secrets.fields import secret_paths
from evalmark.inputs.secrets.known_secrets import names_secret
from evalmark.inputs.suites.schema import dotted_path, schema_faults
from evalmark.inputs.suites.services import VARIABLE, command_of, http_of, relative_program
from evalmark.inputs.suites.suite import CommandSpec, HttpSpec
from evalmark.models.providers.command import CommandProgram
from evalmark.models.providers.workspace import content_hash
from evalmark.runs.targets.service import ServiceTarget, template_faults

from .models import ModelFactory

_LONGEST_NAME = 60


def mapping_target(task: Mapping[str, Any], models: ModelFactory, folder: Path) -> Target:
    """Return the service or the command that a mapping in Python describes, as a suite would.

    What Python names is the user's own word, so any program may be named.

    Raises:
        ConfigError: the mapping has faults; all of them are named.
    """
    checked = {"datasets": ["-"], "metrics": ["-"], "target": dict(task)}
    faults = [fault.sentence for fault in schema_faults(checked)[0]]

    def add_fault(at: DataPath, sentence: str) -> None:
        faults.append(f"`{dotted_path(at)}` {sentence}")

    spec: HttpSpec | CommandSpec | None = None
    if "http" in task:
        spec = http_of(task, ("target",), lambda at: "", add_fault)
    elif "command" in task:
        spec = command_of(task, ("target",), (folder, folder), lambda at: "", add_fault)
    else:
        faults.append(
            f"the task is a mapping with {', '.join(map(str, task)) or 'no keys'}; it takes `http` or `command`."
        )
    if faults or spec is None:
        raise ConfigError.of(list(dict.fromkeys(faults)))
    if isinstance(spec, HttpSpec):
        return http_target(spec, models)
    folders = (folder, folder) if spec.workspace is None else (folder, spec.workspace, folder)
    return command_target(spec, AllowedFolders(folders, (spec.words[0],)))


def http_target(spec: HttpSpec, models: ModelFactory) -> Target:
    """Return the target of an HTTP service; nothing is sent.

    Raises:
        ConfigError: a template is invalid; the message names all of them.
    """
    _raise_template_faults([spec.url, spec.body])
    name = spec.name or _address_name(spec.url)
    plain_headers = {name: value for name, value in spec.headers.items() if not VARIABLE.search(value)}
    settings: dict[str, Any] = {"url": spec.url, "method": spec.method}
    if plain_headers:
        settings["headers"] = plain_headers
    if len(plain_headers) < len(spec.headers):
        settings["variable_headers"] = _variable_headers(spec.headers, models.environ)
    model = models.http_service(name, spec.url, spec.headers, spec.queries)
    return ServiceTarget(name=name, kind="http", model=model, settings=settings, body=spec.body, queries=spec.queries)


def _variable_headers(headers: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return a hash of the headers with variables, so that another tenant, version or account has no cached replies.

    The value of a secret is no part of it, so that replies are reused after a key is renewed, and where there is none.
    """

    def filled(header: str, found: re.Match[str]) -> str:
        is_secret = names_secret(found[1]) or any(secret_paths({header: ""}))
        return found[0] if is_secret else environ.get(found[1], "")

    with_variables = {name.lower(): value for name, value in headers.items() if VARIABLE.search(value)}
    return fingerprint(
        [[name, value, VARIABLE.sub(partial(filled, name), value)] for name, value in sorted(with_variables.items())]
    )[:16]


def command_target(spec: CommandSpec, folders: AllowedFolders) -> Target:
    """Return the target of a command; it is not started.

    Raises:
        ConfigError: a template is invalid, the program does not exist, or the suite may not name it or its workspace.
    """
    program = _program(spec.words[0], folders)
    if spec.workspace is not None and not folders.contains(spec.workspace):
        raise ConfigError(f"the workspace {str(spec.workspace)!r} {folders.outside_message}.")
    _raise_template_faults([*spec.words[1:], spec.stdin])
    name = spec.name or one_line(shlex.join(spec.words), _LONGEST_NAME)
    model = CommandProgram(
        name,
        program,
        folder=spec.folder.resolve(),
        workspace=None if spec.workspace is None else spec.workspace.resolve(),
        queries=spec.queries,
        is_cached=spec.is_cached,
    )
    scripts = [path for word in spec.words[1:] if (path := spec.folder / word).is_file() and folders.contains(path)]
    settings = {"arguments": list(spec.words[1:])} | ({"scripts": content_hash(scripts)} if scripts else {})
    return ServiceTarget(
        name=name, kind="command", model=model, settings=settings, body=spec.stdin, queries=spec.queries
    )


def _program(word: str, folders: AllowedFolders) -> str:
    """Return the file of a program that the suite may name: one of its project, or one that the user allows."""
    if (path := relative_program(word, (folders[0], folders[-1]))) is not None:
        if not path.is_file():
            raise ConfigError(f"there is no program {word!r} in {folders[0]}.")
        if not folders.contains_code(path) and word not in folders.allow_code:
            raise ConfigError(f"the program {word!r} {folders.outside_message}, or allow it: --allow-code {word}")
        return str(path.resolve())
    if word not in folders.allow_code:
        raise ConfigError(
            f"the suite names the program {word!r}, which is not a file of its project. If you trust the suite, allow it: "
            f'--allow-code {word}, or allow_code = ["{word}"] under [tool.evalmark].'
        )
    found = shutil.which(word)
    if found is None:
        raise ConfigError(f"the program {word!r} is not installed, or not on the PATH.")
    return found


def _address_name(url: str) -> str:
    parts = urlsplit(url)
    return one_line(f"{parts.netloc}{parts.path}".rstrip("/"), _LONGEST_NAME)


def _raise_template_faults(templates: list[object]) -> None:
    if faults := list(dict.fromkeys(template_faults(templates))):
        raise ConfigError.of(faults)
