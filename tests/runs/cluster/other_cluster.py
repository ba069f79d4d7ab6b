"""A program: a cluster as others run it, on the machine's own address; ends with its input.

Prints its address and that of its door for clients. Call: other_cluster.py
"""

import socket
import sys


def main() -> None:
    from ray.cluster_utils import Cluster

    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    node = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 100_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "ray_client_server_port": port})
    host = cluster.address.rpartition(":")[0]
    print(cluster.address, f"ray://{host}:{port}", flush=True)  # noqa: T201
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
