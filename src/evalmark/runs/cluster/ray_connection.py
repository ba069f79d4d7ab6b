"""Connect to Ray: a private instance on this machine, or an existing cluster that requires a token."""

import ipaddress
import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalmark.core.errors import ConfigError, EvalmarkError, MissingExtraError
from evalmark.core.lazy import need

if TYPE_CHECKING:
    from types import ModuleType

LOCAL_RAY = "ray"
RUNNING_RAY = "ray:auto"
_INIT_OPTIONS = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
_NO_USAGE_STATS = {"RAY_USAGE_STATS_ENABLED": "0"}
_PRIVATE_RAY_VARIABLES = {
    **_NO_USAGE_STATS,
    # Also on Linux: unless this is 0, Ray listens on every address of the machine, even if it runs on one machine only.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
_FORK_FAILURE = "Starting Ray client server failed"
"""Part of Ray's error if the fork for a client fails: the head forks a process for each client, and gRPC sometimes
fails after a fork (Ray 2.60, gRPC 1.85)."""
_RETRY_ADVICE = (
    "Try again. If the error stays, read that log on the head, and start the head with GRPC_ENABLE_FORK_SUPPORT=0."
)
_ADDRESS_ADVICE = "Check the address, and RAY_AUTH_TOKEN if the cluster requires a token."
_MEMORY = 100_000_000
"""Bytes of Ray's object store, about its minimum: workers and coordinator exchange messages, and few objects."""

UNAUTHENTICATED, UNAVAILABLE = "UNAUTHENTICATED", "UNAVAILABLE"
_PROBE_SECONDS = 10
"""The timeout of the probe, in seconds."""
_DIRECT = (("grpc.enable_http_proxy", 0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """The Ray cluster to use."""

    address: str | None
    """None: start a private one on this machine; `auto`: the one that runs here; otherwise `ray://HOST:PORT`."""
    is_trusted: bool = False
    """Whether a cluster without a token is accepted."""


@dataclass(frozen=True, slots=True)
class GrpcEndpoint:
    """The address and gRPC method by which the token is probed; any method works, since the token is checked first."""

    target: str
    """HOST:PORT."""
    method: str
    is_client_port: bool = False


def parse_cluster_address(on: str, *, is_trusted: bool = False) -> ClusterAddress:
    """Parse the value of `--on`.

    >>> parse_cluster_address("ray").address, parse_cluster_address("ray:auto").address, parse_cluster_address("ray://10.0.0.1:10001").address
    (None, 'auto', 'ray://10.0.0.1:10001')

    Raises:
        ConfigError: the value has another form.
    """
    if on == LOCAL_RAY:
        return ClusterAddress(address=None, is_trusted=is_trusted)
    if on == RUNNING_RAY:
        return ClusterAddress(address="auto", is_trusted=is_trusted)
    try:
        parts = urlsplit(on)
        is_valid = parts.scheme == "ray" and bool(parts.hostname) and parts.port is not None and not parts.path
    except ValueError:
        is_valid = False
    if not is_valid or "@" in on:
        shown = "" if "@" in on else f" {on!r}"  # the value may hold a password
        raise ConfigError(
            f"--on{shown} is not a place to run; use local, {LOCAL_RAY} (a private Ray on this machine), {RUNNING_RAY} (the "
            "cluster of this machine) or ray://HOST:PORT."
        )
    return ClusterAddress(address=on, is_trusted=is_trusted)


@contextmanager
def connect(
    cluster: ClusterAddress, environ: "os._Environ[str] | dict[str, str]" = os.environ
) -> Iterator["ModuleType"]:
    """Connect to Ray and yield its module, with Ray's own output silenced; a private Ray ends with the block.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: the cluster cannot be reached, or requires no token and `is_trusted` is False.
    """
    own = (
        {**_PRIVATE_RAY_VARIABLES, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        if cluster.address is None
        else _NO_USAGE_STATS
    )
    with _environment(environ, own):  # Ray and its processes read it at import
        ray = need("ray", "ray")
        logging.getLogger("ray").setLevel(logging.ERROR)
        # Ray prints lost workers to the standard output, which is for reports; the run notes them instead.
        ray._private.worker._worker_logs_enabled = False
        _check_access(cluster, environ)
        _init_ray(ray, cluster)
        try:
            yield ray
        finally:
            ray.shutdown()


def _reload_ray_config() -> None:
    """Make Ray read the environment again; otherwise it keeps its first token for the life of the process."""
    need("ray", "ray")
    raylet = need("ray._raylet", "ray")
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()


def _init_ray(ray: "ModuleType", cluster: ClusterAddress) -> None:
    options: dict[str, Any] = dict(_INIT_OPTIONS)
    if cluster.address is None:
        options |= {"address": "local", "object_store_memory": _MEMORY}
    else:
        options |= {"address": cluster.address, "namespace": "evalmark"}
    try:
        ray.init(**options)
    except Exception as error:  # foreign code: the error type depends on the version of Ray and on the fault
        reason = error_line(error).rstrip(".")
        raise ConfigError(
            f"--on: Ray cannot be used: {reason}. {_RETRY_ADVICE if _FORK_FAILURE in reason else _ADDRESS_ADVICE}"
        ) from error


def error_line(error: Exception) -> str:
    """Reduce a Ray error to one line: evalmark's own message, the last line of a traceback, or the first line."""
    if isinstance(cause := getattr(error, "cause", None), EvalmarkError):
        return str(cause)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if "Traceback" in str(error) else lines[0] if lines else type(error).__name__


@contextmanager
def _environment(environ: "os._Environ[str] | dict[str, str]", more: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, restore them afterwards, and make Ray read them both times.

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


def _check_access(cluster: ClusterAddress, environ: Mapping[str, str]) -> None:
    """Raise ConfigError for a cluster that rejects our token or requires none."""
    endpoint = None if cluster.address is None else grpc_endpoint(cluster.address, environ)
    if endpoint is None:
        return  # a private Ray, or no cluster: Ray itself reports where it looked
    _refuse_unanswered(endpoint)
    if not cluster.is_trusted:
        _refuse_open(endpoint, environ)


def _refuse_unanswered(endpoint: GrpcEndpoint) -> None:
    """Raise ConfigError at once where Ray would retry for a minute without a clear error."""
    status = grpc_status(endpoint, is_anonymous=False)
    if status == UNAUTHENTICATED:
        raise ConfigError(
            f"--on: the Ray cluster at {endpoint.target} rejects this token. Set RAY_AUTH_MODE=token, and "
            "RAY_AUTH_TOKEN to the token that it was started with."
        )
    if status == UNAVAILABLE:
        raise ConfigError(f"--on: no Ray cluster answers at {endpoint.target}. Check the address, and that it runs.")


def _refuse_open(endpoint: GrpcEndpoint, environ: Mapping[str, str]) -> None:
    """Raise ConfigError for a cluster on other machines that accepts a call without a token."""
    # A client port on this machine may forward to another machine.
    if not endpoint.is_client_port and _is_here(endpoint):
        return
    status = grpc_status(endpoint, is_anonymous=True)
    # With mutual TLS, a caller without a certificate gets no answer.
    if status == UNAUTHENTICATED or (status == UNAVAILABLE and environ.get("RAY_USE_TLS", "").lower() in ("1", "true")):
        return
    if status == UNAVAILABLE:
        raise ConfigError(
            f"--on: the Ray cluster at {endpoint.target} did not answer whether it requires a token. Try again, or use "
            "--trust-cluster if its network is closed."
        )
    raise ConfigError(
        f"The Ray cluster at {endpoint.target} runs code of anyone who knows its address, so others could read keys "
        "and data there. Start it with RAY_AUTH_MODE=token, or use --trust-cluster if its network is closed."
    )


def _is_here(endpoint: GrpcEndpoint) -> bool:
    """Whether the endpoint is on the loopback interface."""
    host = endpoint.target.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def grpc_endpoint(address: str, environ: Mapping[str, str] = os.environ) -> GrpcEndpoint | None:
    """Return the endpoint of `ray://HOST:PORT` or of the local cluster (`auto`), or None without such a cluster.

    >>> grpc_endpoint("auto", {"RAY_ADDRESS": "10.0.0.1:6379"}).target
    '10.0.0.1:6379'
    """
    if address == "auto":
        address = environ.get("RAY_ADDRESS") or need("ray._private.utils", "ray").read_ray_address() or ""
    if "://" in address:
        return GrpcEndpoint(urlsplit(address).netloc, "/ray.rpc.RayletDriver/ClusterInfo", is_client_port=True)
    return GrpcEndpoint(address, "/ray.rpc.NodeInfoGcsService/GetClusterId") if address else None


def grpc_status(endpoint: GrpcEndpoint, *, is_anonymous: bool) -> str:
    """Call the endpoint and return the name of the gRPC status, such as `OK`, `UNAUTHENTICATED` or `UNAVAILABLE`.

    With `is_anonymous`, send no token; otherwise the one that Ray finds in the environment.
    """
    grpc = need("grpc", "ray")
    opened = grpc.insecure_channel if is_anonymous else need("ray._private.grpc_utils", "ray").init_grpc_channel
    with closing(opened(endpoint.target, options=_DIRECT)) as channel:
        try:
            channel.unary_unary(endpoint.method)(b"", timeout=_PROBE_SECONDS)
        except grpc.RpcError as error:
            name = str(error.code().name)
            return UNAVAILABLE if name == "DEADLINE_EXCEEDED" else name
    return "OK"
