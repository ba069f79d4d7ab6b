"""A server that lists evals, runs, output items and files as OpenAI's API documents it; it counts and checks requests."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

KEY = "sk-0123456789abcdef-of-an-account"


class Account:
    """Serves lists for one `with` block.

    Args:
        lists: the objects of each list, by its path, such as `evals/eval_1/runs`.
        files: the text of each file by id.
        faults: the status of the first replies to a path, such as `{"evals": [429, 500]}`.
        azure: whether it is an Azure resource: the address, the header of the key, and the preview header differ.
    """

    def __init__(
        self,
        lists: dict[str, list[Any]],
        files: dict[str, str] | None = None,
        faults: dict[str, list[int]] | None = None,
        azure: bool = False,
    ) -> None:
        self.lists, self.files, self.faults = lists, files or {}, {k: list(v) for k, v in (faults or {}).items()}
        self.azure = azure
        self.requests: Counter[str] = Counter()
        self.problems: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, body, headers = outer.answer(self.path, dict(self.headers))
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Be quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def prefix(self) -> str:
        return "/openai/v1/" if self.azure else "/v1/"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self.prefix[:-1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, address: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        parts = urlsplit(address)
        given = {name.lower(): value for name, value in headers.items()}
        key = given.get("api-key") if self.azure else given.get("authorization", "").removeprefix("Bearer ")
        if key != KEY:
            return 401, b'{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}', {}
        if self.azure and given.get("aoai-evals") != "preview":
            self.problems.append("no preview header")
        assert parts.path.startswith(self.prefix), parts.path
        path = parts.path.removeprefix(self.prefix)
        self.requests[path] += 1
        if left := self.faults.get(path):
            status = left.pop(0)
            return status, b'{"error": {"message": "again later"}}', {"retry-after": "0.05"}
        return self.page(path, {name: values[0] for name, values in parse_qs(parts.query).items()})

    def page(self, path: str, query: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        kind, _, name = path.partition("/")
        if kind == "files" and name.removesuffix("/content") in self.files:
            if name.endswith("/content"):
                return (
                    200,
                    self.files[name.removesuffix("/content")].encode(),
                    {"content-type": "application/octet-stream"},
                )
            return 200, json.dumps({"object": "file", "id": name, "purpose": "evals"}).encode(), {}
        if path not in self.lists:
            return 404, b'{"error": {"message": "No such object"}}', {}
        if not query.keys() <= {"limit", "after"}:
            self.problems.append(f"{path} was asked with {query}")
        size = int(query.get("limit", "20"))
        if not 1 <= size <= 100:
            self.problems.append(f"limit is {size}")
        objects = self.lists[path]
        ids = [item["id"] for item in objects]
        start = ids.index(query["after"]) + 1 if "after" in query else 0
        found = objects[start : start + size]
        page = {
            "object": "list",
            "data": found,
            "first_id": found[0]["id"] if found else None,
            "last_id": found[-1]["id"] if found else None,
            "has_more": start + size < len(objects),
        }
        return 200, json.dumps(page).encode(), {}


LABELS = ("Hardware", "Software", "Other")


def tickets(number: int) -> dict[str, str]:
    return {"ticket": f"Ticket {number}: it does not start", "correct_label": LABELS[number % 3]}


TICKETS = {
    "object": "eval", "id": "eval_tickets", "name": "Tickets", "created_at": 1_750_000_000, "metadata": {},
    "data_source_config": {"type": "custom", "schema": {"type": "object"}},
    "testing_criteria": [
        {"type": "string_check", "name": "Match", "id": "Match-77aa", "input": "{{ sample.output_text }}", "reference": "{{ item.correct_label }}", "operation": "eq"},
        {"type": "text_similarity", "name": "near", "input": "{{sample.output_text}}", "reference": "{{item.correct_label}}", "evaluation_metric": "fuzzy_match", "pass_threshold": 0.8},
        {"type": "string_check", "name": "no number", "input": "{{item.ticket}} {{sample.output_text}}", "reference": "{{item.ticket}} 7", "operation": "ne"},
        {
            "type": "label_model", "name": "polite", "model": "gpt-judge", "labels": ["polite", "rude"], "passing_labels": ["polite"],
            "input": [{"role": "developer", "content": "Is the answer polite?"}, {"role": "user", "content": {"type": "input_text", "text": "{{item.ticket}}: {{sample.output_text}}"}}],
        },
        {
            "type": "score_model", "name": "quality", "model": "gpt-judge", "range": [0, 1], "pass_threshold": 0.6, "sampling_params": {"temperature": 0},
            "input": [{"role": "user", "content": "How good, from 0 to 1? {{sample.output_text}}"}],
        },
        {"type": "python", "name": "short", "source": "def grade(sample, item):\n    return 1.0 if len(sample['output_text']) < 12 else 0.0\n", "pass_threshold": 1},
        {
            "type": "multi", "name": "both", "calculate_output": "0.5 * same + 0.5 * close",
            "graders": {
                "same": {"type": "string_check", "name": "same", "input": "{{sample.output_text}}", "reference": "{{item.correct_label}}", "operation": "ilike"},
                "close": {"type": "text_similarity", "name": "close", "input": "{{sample.output_text}}", "reference": "{{item.correct_label}}", "evaluation_metric": "rouge_l"},
            },
        },
    ],
}  # fmt: skip


def run(name: str, created: int, prompt: str, rows: int) -> dict[str, Any]:
    return {
        "object": "eval.run", "id": name, "eval_id": "eval_tickets", "name": f"prompt of {name}", "model": "gpt-small", "created_at": created, "status": "completed",
        "data_source": {
            "type": "completions", "model": "gpt-small", "sampling_params": {"temperature": 0.2, "max_completion_tokens": 50, "seed": None},
            "source": {"type": "file_content", "content": [{"item": tickets(number)} for number in range(rows)]},
            "input_messages": {"type": "template", "template": [
                {"type": "message", "role": "developer", "content": {"type": "input_text", "text": prompt}},
                {"type": "message", "role": "user", "content": {"type": "input_text", "text": "{{item.ticket}}"}},
            ]},
        },
    }  # fmt: skip


def output_item(run_id: str, number: int, answer: str) -> dict[str, Any]:
    item = tickets(number)
    same = answer == item["correct_label"]
    return {
        "object": "eval.run.output_item", "id": f"outputitem_{run_id}_{number}", "run_id": run_id, "eval_id": "eval_tickets",
        "created_at": 1_751_000_000, "status": "pass" if same else "fail", "datasource_item_id": number, "datasource_item": item,
        "results": [
            {"name": "Match-77aa", "passed": same, "score": float(same), "sample": None, "type": "string-check-grader"},
            {"name": "near", "passed": same, "score": 1.0 if same else fuzzy(answer, item["correct_label"]), "sample": None},
            {"name": "no number", "passed": True, "score": 1.0, "sample": None},
            {"name": "polite", "passed": True, "score": 1.0, "sample": {"output": []}},
        ],
        "sample": {
            "model": "gpt-small-2026", "input": [{"role": "user", "content": item["ticket"]}],
            "output": [{"role": "assistant", "content": answer}], "error": None, "finish_reason": "stop",
            "usage": {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22, "cached_tokens": 0},
        },
    }  # fmt: skip


def fuzzy(one: str, other: str) -> float:
    """The share of letters in common order: Indel similarity, in the few lines of its definition."""
    rows = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            rows[i][j] = rows[i - 1][j - 1] + 1 if a == b else max(rows[i - 1][j], rows[i][j - 1])
    return round(2 * rows[-1][-1] / (len(one) + len(other)), 6)


FILE = "".join(
    json.dumps({"item": {"q": f"{n} + {n}", "answer": str(2 * n)}, "sample": {"output_text": str(2 * n)}}) + "\n"
    for n in range(3)
)
SUMS = {
    "object": "eval", "id": "eval_sums", "name": "Sums", "created_at": 1_750_000_100,
    "data_source_config": {"type": "custom", "schema": {}},
    "testing_criteria": [{"type": "string_check", "name": "right", "input": "{{sample.output_text}}", "reference": "{{item.answer}}", "operation": "like"}],
}  # fmt: skip
SUMS_RUN = {
    "object": "eval.run", "id": "evalrun_sums", "eval_id": "eval_sums", "name": "given", "model": "", "created_at": 1_750_000_200,
    "data_source": {"type": "jsonl", "source": {"type": "file_id", "id": "file-sums"}},
}  # fmt: skip


def world(rows: int = 205) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Return the lists and files of an account with two evals."""
    right = [output_item("evalrun_2", n, LABELS[n % 3]) for n in range(rows)]
    worse = [output_item("evalrun_1", n, LABELS[(n + n % 2) % 3]) for n in range(rows)]
    lists: dict[str, list[Any]] = {
        "evals": [TICKETS, SUMS],
        "evals/eval_tickets/runs": [run("evalrun_2", 1_752_000_000, "Sort the ticket.", rows), run("evalrun_1", 1_751_000_000, "Sort.", rows)],
        "evals/eval_tickets/runs/evalrun_1/output_items": worse,
        "evals/eval_tickets/runs/evalrun_2/output_items": right,
        "evals/eval_sums/runs": [SUMS_RUN],
        "evals/eval_sums/runs/evalrun_sums/output_items": [],
    }  # fmt: skip
    return lists, {"file-sums": FILE}
