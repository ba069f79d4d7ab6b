"""Probe whether a Ray cluster requires a token: one small gRPC call, with or without the token, and its status."""

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

from evalmark.core.lazy import need

UNAUTHENTICATED, UNAVAILABLE = "UNAUTHENTICATED", "UNAVAILABLE"
_TIMEOUT = 10
"""Seconds until the call counts as unanswered."""
_DIRECT = (("grpc.enable_http_proxy", 0),)


@dataclass(frozen=True, slots=True)
class GrpcEndpoint:
    """The address and method of the probe. The method does not matter, since the token is checked first."""

    target: str
    """HOST:PORT."""
    method: str
    is_client_port: bool = False


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
            channel.unary_unary(endpoint.method)(b"", timeout=_TIMEOUT)
        except grpc.RpcError as error:
            name = str(error.code().name)
            return UNAVAILABLE if name == "DEADLINE_EXCEEDED" else name
    return "OK"
