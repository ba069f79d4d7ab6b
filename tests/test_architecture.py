"""The order of the packages and the rules of the source, checked by machine."""

import ast
import subprocess
import sys

import pytest

from .conftest import ROOT

SOURCE = ROOT / "src" / "evalmark"
CATCH_FOREIGN_CODE = {
    "core/sync.py:_run_in_thread",
    "core/sync.py:run",
    "runs/cluster/ray_actors.py:start",
    "runs/cluster/ray_actors.py:work",
    "runs/cluster/remote_calls.py:run",
    "runs/cluster/channel.py:_attempt",
    "runs/cluster/ray_connection.py:_init_ray",
    "runs/engine/trial.py:_call",
    "runs/engine/trial.py:_run_scorer",
    "runs/engine/trial.py:_settled",
    "runs/engine/trial.py:describe_error",
    "runs/engine/tracebacks.py:user_traceback",
    "runs/isolation/pool.py:_do",
    "runs/isolation/pool.py:_receive",
    "runs/isolation/worker_setup.py:_recipe",
    "runs/isolation/worker.py:_send",
    "runs/isolation/worker.py:run_worker",
    "interop/hugging_face.py:_opened",
    "models/embeddings/cached_embedder.py:_serve",
    "models/embeddings/adapters.py:__call__",
    "models/embeddings/load.py:_load_sentence_transformer",
    "models/embeddings/local.py:_tokenizer",
    "models/embeddings/runtime.py:_session",
    "harness/evals/rows.py:_collect",
    "harness/evals/rows.py:read_rows",
    "models/embeddings/runtime.py:open_openvino",
    "models/providers/pydantic_ai.py:_ask",
    "models/providers/pydantic_ai.py:_model",
    "tracing/recorder/span_values.py:text",
    "tracing/recorder/spans.py:end",
    "tracing/recorder/spans.py:copy_or_error",
    "tracing/recorder/spans.py:set_arguments",
    "tracing/recorder/wrappers.py:_async_generator",
    "tracing/recorder/wrappers.py:_generator",
    "tracing/recorder/wrappers.py:call",
    "tracing/recorder/writer.py:_take",
    "tracing/recorder/writer.py:run",
    "core/foreign/copying.py:copy_value",
    "core/foreign/identity.py:_repr_without_addresses",
    "core/foreign/named_objects.py:_import_steps",
    "core/foreign/threads.py:do",
    "scoring/binding/registry.py:_load_entry_point",
    "scoring/binding/registry.py:_build",
    "storage/database/fields.py:storable",
    "testing/scripted/server.py:_outgoing",
    "runs/tool_replay/call.py:_call_user_function",
    "runs/transcripts/contents.py:as_plain",
    "runs/transcripts/contents.py:get_field",
    "harness/unit_tests/embed_function.py:_try_list",
    "harness/unit_tests/embed_function.py:_try_list_async",
    "harness/unit_tests/session.py:_judge",
    "harness/unit_tests/session.py:evaluate",
    "harness/unit_tests/session.py:evaluate_async",
}


@pytest.mark.slow
def test_packages_import_only_packages_below_them():
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_foreign_code_is_caught_in_the_known_places_only():
    """`except Exception` stands where users' objects are called, and nowhere else (DESIGN: a failing case is a result)."""
    found = {
        f"{path.relative_to(SOURCE)}:{node.name}"
        for path in SOURCE.rglob("*.py")
        if (text := path.read_text(encoding="utf-8")) and "except" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(catches_everything, ast.walk(node)))
    }
    assert found == CATCH_FOREIGN_CODE


def catches_everything(node):
    """Whether a handler takes any exception and does not hand it on."""
    if not isinstance(node, ast.ExceptHandler) or (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(kind is None or getattr(kind, "id", "") in {"Exception", "BaseException"} for kind in kinds)
