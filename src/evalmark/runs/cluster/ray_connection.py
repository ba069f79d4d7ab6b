"""Where hands work: a Ray of our own on this machine, or a cluster that is there already and that not everybody may use."""

import ipaddress
import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalmark.core.errors import ConfigError, EvalmarkError, MissingExtraError
from evalmark.core.lazy import need

from .auth_probe import UNAUTHENTICATED, UNAVAILABLE, GrpcEndpoint, grpc_endpoint, grpc_status

if TYPE_CHECKING:
    from types import ModuleType

LOCAL_RAY = "ray"
RUNNING_RAY = "ray:auto"
_QUIET = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
_UNCOUNTED = {"RAY_USAGE_STATS_ENABLED": "0"}
_ALONE = {
    **_UNCOUNTED,
    # On Linux as elsewhere: without it Ray listens on every address of the machine, also for a Ray of one machine.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
_FORKED = "Starting Ray client server failed"
"""The head starts a process for each client, and gRPC does not always survive that (Ray 2.60, gRPC 1.85)."""
_BY_CHANCE = (
    "That may be chance: try again; if it stays, look at that log on the head, and start the head with "
    "GRPC_ENABLE_FORK_SUPPORT=0."
)
_CHECK = "Check the address, and RAY_AUTH_TOKEN where the cluster asks for a token."
_MEMORY = 100_000_000
"""Bytes of Ray's object store, the least it takes about: hands and desk exchange messages, and few objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """Which Ray is meant."""

    address: str | None
    """None: one of our own, started on this machine for the run; `auto`: the one that runs here; else `ray://HOST:PORT`."""
    is_trusted: bool = False
    """Whether a cluster is used that takes anybody's work."""


def parse_place(on: str, *, is_trusted: bool = False) -> ClusterAddress:
    """Which Ray `--on` means.

    >>> where("ray").address, where("ray:auto").address, where("ray://10.0.0.1:10001").address
    (None, 'auto', 'ray://10.0.0.1:10001')

    Raises:
        ConfigError: it means nothing.
    """
    if on == LOCAL_RAY:
        return ClusterAddress(address=None, is_trusted=is_trusted)
    if on == RUNNING_RAY:
        return ClusterAddress(address="auto", is_trusted=is_trusted)
    try:
        parts = urlsplit(on)
        fine = parts.scheme == "ray" and bool(parts.hostname) and parts.port is not None and not parts.path
    except ValueError:
        fine = False
    if not fine or "@" in on:
        found = "" if "@" in on else f" {on!r}"  # it may hold a password
        raise ConfigError(
            f"--on{found} is no place to run; name local, {LOCAL_RAY} (a Ray of its own on this machine), {RUNNING_RAY} (the "
            "cluster that this machine is part of) or ray://HOST:PORT."
        )
    return ClusterAddress(address=on, is_trusted=is_trusted)


@contextmanager
def connect(place: ClusterAddress, environ: "os._Environ[str] | dict[str, str]" = os.environ) -> Iterator["ModuleType"]:
    """The library of Ray, connected, and without words of its own on the terminal; a Ray of our own ends with the block.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: the cluster cannot be reached, or takes anybody's work and `is_trusted` is False.
    """
    own = {**_ALONE, "RAY_AUTH_TOKEN": secrets.token_hex(32)} if place.address is None else _UNCOUNTED
    with _environment(environ, own):  # read by Ray when it is imported, and by what it starts
        ray = need("ray", "ray")
        logging.getLogger("ray").setLevel(logging.ERROR)
        # Ray says on the standard output that a worker has ended, where reports stand; the desk says so in the run.
        ray._private.worker._worker_logs_enabled = False
        _check_access(place, environ)
        _init_ray(ray, place)
        try:
            yield ray
        finally:
            ray.shutdown()


def _reload_ray_config() -> None:
    """Have Ray look at the environment: else the first token that it sees is its own for the life of the process."""
    need("ray", "ray")
    raylet = need("ray._raylet", "ray")
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()


def _init_ray(ray: "ModuleType", place: ClusterAddress) -> None:
    given: dict[str, Any] = dict(_QUIET)
    if place.address is None:
        given |= {"address": "local", "object_store_memory": _MEMORY}
    else:
        given |= {"address": place.address, "namespace": "evalmark"}
    try:
        ray.init(**given)
    except Exception as error:  # foreign code: Ray raises many kinds, by version and by what is wrong
        reason = error_line(error).rstrip(".")
        raise ConfigError(
            f"--on: Ray cannot be used: {reason}. {_BY_CHANCE if _FORKED in reason else _CHECK}"
        ) from error


def error_line(error: Exception) -> str:
    """What Ray says, in a line: our own sentence, else the last one of a traceback, or the first one of all else."""
    if isinstance(cause := getattr(error, "cause", None), EvalmarkError):
        return str(cause)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if "Traceback" in str(error) else lines[0] if lines else type(error).__name__


@contextmanager
def _environment(environ: "os._Environ[str] | dict[str, str]", more: Mapping[str, str]) -> Iterator[None]:
    """Have these variables set, and as they were afterwards; Ray knows of it both times.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    before = {name: environ.get(name) for name in more}
    environ.update(more)
    try:
        _reload_ray_config()
        yield
    finally:
        for name, value in before.items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value
        with suppress(MissingExtraError):
            _reload_ray_config()


def _check_access(place: ClusterAddress, environ: Mapping[str, str]) -> None:
    """Raises ConfigError for a cluster that would not take our work, or takes everybody's."""
    entrance = None if place.address is None else grpc_endpoint(place.address, environ)
    if entrance is None:
        return  # it is ours, or there is none and Ray says where it looked
    _refuse_unanswered(entrance)
    if not place.is_trusted:
        _refuse_open(entrance, environ)


def _refuse_unanswered(entrance: GrpcEndpoint) -> None:
    """Raises ConfigError where Ray itself would try for a minute, line by line, and not say what is wrong."""
    status = grpc_status(entrance, is_stranger=False)
    if status == UNAUTHENTICATED:
        raise ConfigError(
            f"--on: the Ray cluster at {entrance.target} does not take this token. Set RAY_AUTH_MODE=token and "
            "RAY_AUTH_TOKEN to the one that it was started with."
        )
    if status == UNAVAILABLE:
        raise ConfigError(f"--on: no Ray cluster answers at {entrance.target}. Check the address, and that it runs.")


def _refuse_open(entrance: GrpcEndpoint, environ: Mapping[str, str]) -> None:
    """Raises ConfigError for a cluster on other machines, unless it turned a stranger away."""
    # Behind a client's address on this machine may be any other one.
    if not entrance.is_for_clients and _is_here(entrance):
        return
    status = grpc_status(entrance, is_stranger=True)
    # Where certificates are used on both sides, a stranger, who has none, is not even answered.
    if status == UNAUTHENTICATED or (status == UNAVAILABLE and environ.get("RAY_USE_TLS", "").lower() in ("1", "true")):
        return
    if status == UNAVAILABLE:
        raise ConfigError(
            f"--on: the Ray cluster at {entrance.target} did not say whether it asks for a token. Try again, or say "
            "--trust-cluster where its network is closed."
        )
    raise ConfigError(
        f"The Ray cluster at {entrance.target} takes the work of anybody who knows its address, so others could read keys "
        "and data there. Start it with RAY_AUTH_MODE=token, or say --trust-cluster where its network is closed."
    )


def _is_here(entrance: GrpcEndpoint) -> bool:
    """Whether only this machine can reach it."""
    host = entrance.target.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
