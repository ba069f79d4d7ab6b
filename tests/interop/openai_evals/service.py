"""A server that takes evals as OpenAI and Azure document it, and refuses what is not so."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

import jsonschema

GRADERS: Mapping[str, tuple[str, ...]] = {
    "string_check": ("name", "input", "reference", "operation"),
    "text_similarity": ("name", "input", "reference", "evaluation_metric", "pass_threshold"),
    "label_model": ("name", "model", "input", "labels", "passing_labels"),
    "score_model": ("name", "model", "input"),
}


class Service:
    """Serves for one `with` block; `key` is what a header has to hold, `header` which one."""

    def __init__(
        self,
        *,
        key: str = "",
        header: str = "authorization",
        prefix: str = "/v1",
        fail_runs: bool = False,
        slow: bool = False,
    ) -> None:
        self.key, self.header, self.prefix, self.fail_runs = key, header, prefix, fail_runs
        self.evals: dict[str, Any] = {}
        self.runs: list[Any] = []
        self.problems: list[str] = []
        outer, self._ended = self, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if slow:
                    outer._ended.wait(10)
                status, said = outer.answer(self.path, self.headers.get(outer.header, ""), body)
                data = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                """Be quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str, key: str, body: bytes) -> tuple[int, Any]:
        wanted = f"Bearer {self.key}" if self.header == "authorization" else self.key
        if self.key and key != wanted:
            return 401, {"error": {"message": f"wrong key {key}"}}
        try:
            return 201, self.made(urlsplit(path).path, json.loads(body))
        except (AssertionError, KeyError, jsonschema.ValidationError) as wrong:
            self.problems.append(f"{path}: {wrong!r}")
            return 400, {"error": {"message": str(wrong)[:200]}}

    def made(self, path: str, body: Any) -> Any:
        parts = path.removeprefix(f"{self.prefix}/").split("/")
        assert parts[0] == "evals", f"no such path {path}"
        if len(parts) == 1:
            check_eval(body)
            name = f"eval_{len(self.evals)}"
            self.evals[name] = body
            return {"id": name, "object": "eval"}
        assert not self.fail_runs, "runs are not taken"
        check_run(body, self.evals[parts[1]])
        self.runs.append(body)
        return {"id": f"evalrun_{len(self.runs)}", "object": "eval.run"}


def check_eval(body: Any) -> None:
    assert body.keys() <= {"name", "metadata", "data_source_config", "testing_criteria"}
    config = body["data_source_config"]
    assert config["type"] == "custom"
    jsonschema.Draft202012Validator.check_schema(config["item_schema"])
    properties = config["item_schema"]["properties"]
    for criterion in body["testing_criteria"]:
        missing = [name for name in GRADERS[criterion["type"]] if name not in criterion]
        assert not missing, missing
        assert set(criterion.get("passing_labels", ())) <= set(criterion.get("labels", ()))
        named = [part.split("}}")[0] for part in json.dumps(criterion).split("{{item.")[1:]]
        assert set(named) <= properties.keys(), named
    metadata = body.get("metadata") or {}
    assert len(metadata) <= 16
    assert all(len(key) <= 64 and len(value) <= 512 for key, value in metadata.items())


def check_run(body: Any, created: Any) -> None:
    assert body.keys() <= {"name", "metadata", "data_source"}
    source = body["data_source"]
    assert source["type"] in ("jsonl", "completions")
    if source["type"] == "completions":
        assert source["model"]
        assert {m["role"] for m in source["input_messages"]["template"]} <= {"system", "user", "assistant"}
    schema = created["data_source_config"]["item_schema"]
    for row in source["source"]["content"]:
        jsonschema.validate(row["item"], schema)
        if source["type"] == "jsonl":
            assert isinstance(row["sample"]["output_text"], str)
