"""A scripted server that answers as OpenAI, Anthropic, Gemini, Ollama and plain HTTP services do.

A judge gets an object that fits its schema, an embedding is a hash of its text, and everything else one fixed sentence. It runs
in a thread of `interop.py`.
"""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SENTENCE = "The answer is 42. Hello! I am sorry, I cannot help with that."
VERDICT = {"answer": "C", "score": 0.8, "pass": True, "verdict": "yes", "value": 1, "reason": "ok", "choice": "Yes"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send({"data": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}
        self._send(reply_to(self.path.partition("?")[0], asked if isinstance(asked, dict) else {}))

    def _send(self, answer: Any) -> None:
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def reply_to(path: str, asked: dict[str, Any]) -> Any:
    """The reply in the form of the service that the path belongs to."""
    schema = (asked.get("response_format") or {}).get("json_schema", {}).get("schema")
    is_judge = schema or "judge" in str(asked.get("model"))
    text = json.dumps(fitting(schema) if schema else VERDICT) if is_judge else SENTENCE
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    if path.endswith("/embeddings"):
        texts = asked.get("input")
        vectors = [_vector(item) for item in (texts if isinstance(texts, list) else [texts])]
        data = [{"index": n, "object": "embedding", "embedding": vector} for n, vector in enumerate(vectors)]
        return {"object": "list", "model": "e", "data": data, "usage": usage}
    if path.endswith("/messages"):
        content = [{"type": "text", "text": text}]
        used = {"input_tokens": 5, "output_tokens": 7}
        return {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": used}
    if "generateContent" in path:
        content = {"role": "model", "parts": [{"text": text}]}
        used = {"promptTokenCount": 5, "candidatesTokenCount": 7}
        return {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": used}
    if path.endswith("/api/chat"):
        return {
            "message": {"role": "assistant", "content": text},
            "done": True,
            "prompt_eval_count": 5,
            "eval_count": 7,
        }
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    if path.endswith("/completions"):
        return {"id": "c", "object": "chat.completion", "model": asked.get("model"), "choices": choices, "usage": usage}
    return dict.fromkeys(("output", "response", "answer", "reply", "message", "result", "content", "text"), text) | {
        "choices": choices
    }


def _vector(text: Any) -> list[float]:
    return [byte / 255 for byte in hashlib.sha256(str(text).encode()).digest()]


def fitting(schema: Any) -> Any:
    """A value that fits a JSON schema of the kind that judges send."""
    if not isinstance(schema, dict):
        return None
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {key: fitting(part) for key, part in (schema.get("properties") or {}).items()}
    if kind == "array":
        return [fitting(schema.get("items") or {})]
    return {"boolean": True, "number": schema.get("maximum", 1), "integer": schema.get("maximum", 1)}.get(kind, "ok")


@contextmanager
def scripted_server() -> Iterator[str]:
    """The address of the server, which ends with the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
