"""Whom a cluster lets in: one small question, asked as a stranger or as oneself, and the status it is answered with."""

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

from evalmark.core.lazy import need

UNAUTHENTICATED, UNAVAILABLE = "UNAUTHENTICATED", "UNAVAILABLE"
_TIMEOUT = 10
"""Seconds for an answer."""
_DIRECT = (("grpc.enable_http_proxy", 0),)


@dataclass(frozen=True, slots=True)
class GrpcEndpoint:
    """Where to ask, and what: a question about nothing, since the token is looked at before the question."""

    target: str
    """HOST:PORT."""
    question: str
    is_for_clients: bool = False


def grpc_endpoint(address: str, environ: Mapping[str, str] = os.environ) -> GrpcEndpoint | None:
    """The entrance of the cluster at `ray://HOST:PORT`, or of the one that `auto` is; None where there is no such cluster.

    >>> entrance_of("auto", {"RAY_ADDRESS": "10.0.0.1:6379"}).target
    '10.0.0.1:6379'
    """
    if address == "auto":
        address = environ.get("RAY_ADDRESS") or need("ray._private.utils", "ray").read_ray_address() or ""
    if "://" in address:
        return GrpcEndpoint(urlsplit(address).netloc, "/ray.rpc.RayletDriver/ClusterInfo", is_for_clients=True)
    return GrpcEndpoint(address, "/ray.rpc.NodeInfoGcsService/GetClusterId") if address else None


def grpc_status(entrance: GrpcEndpoint, *, is_stranger: bool) -> str:
    """The name of the gRPC status of the answer, such as `OK`, `UNAUTHENTICATED` or `UNAVAILABLE`.

    A stranger has no token; all others have what Ray finds in the environment.
    """
    grpc = need("grpc", "ray")
    opened = grpc.insecure_channel if is_stranger else need("ray._private.grpc_utils", "ray").init_grpc_channel
    with closing(opened(entrance.target, options=_DIRECT)) as channel:
        try:
            channel.unary_unary(entrance.question)(b"", timeout=_TIMEOUT)
        except grpc.RpcError as error:
            name = str(error.code().name)
            return UNAVAILABLE if name == "DEADLINE_EXCEEDED" else name
    return "OK"
