"""The order of the rooms and the house rules, checked by machine."""

import ast
import importlib
import subprocess
import sys

import pytest

from .conftest import ROOT

SOURCE = ROOT / "src" / "evalmark"
CATCH_FOREIGN_CODE = {
    "api/door.py:_in_a_thread",
    "api/door.py:run",
    "cluster/actors.py:start",
    "cluster/actors.py:work",
    "cluster/errands.py:run",
    "cluster/post.py:_attempt",
    "cluster/start.py:_connect",
    "engine/trial.py:_answered",
    "engine/trial.py:_ask",
    "engine/trial.py:_settled",
    "engine/trial.py:describe",
    "engine/tracebacks.py:raised",
    "isolation/pool.py:_do",
    "isolation/pool.py:_received",
    "isolation/starting.py:_recipe",
    "isolation/worker.py:_send",
    "isolation/worker.py:work",
    "models/cached.py:_serve",
    "models/foreign.py:__call__",
    "models/loading.py:_load_sentence_transformer",
    "models/local.py:_tokenizer",
    "models/runtime.py:_session",
    "evals/rows.py:_gathered",
    "evals/rows.py:rows_of",
    "models/runtime.py:open_openvino",
    "providers/bridge.py:_ask",
    "providers/bridge.py:_model",
    "recording/texts.py:text",
    "recording/under_way.py:end",
    "recording/under_way.py:safely",
    "recording/under_way.py:take",
    "recording/wrapping.py:_async_generator",
    "recording/wrapping.py:_generator",
    "recording/wrapping.py:call",
    "recording/writing.py:_take",
    "recording/writing.py:run",
    "roles/copies.py:own",
    "roles/identity.py:_written",
    "roles/loading.py:_steps",
    "roles/threads.py:do",
    "scoring/named.py:_loaded",
    "scoring/named.py:_made",
    "database/fields.py:kept",
    "testing/scripted/server.py:_outgoing",
    "tools/call.py:_foreign",
    "transcripts/contents.py:kept",
    "transcripts/contents.py:part",
    "unit_tests/embed_function.py:_tried",
    "unit_tests/embed_function.py:_tried_async",
    "unit_tests/pending.py:_judge",
    "unit_tests/pending.py:evaluate",
    "unit_tests/pending.py:evaluate_async",
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)


def test_rooms_only_look_down():
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_types_are_right():
    found = run("mypy")
    assert found.returncode == 0, found.stdout


def test_style_is_kept():
    found = run("ruff", "check", ".")
    assert found.returncode == 0, found.stdout


def test_format_is_kept():
    found = run("ruff", "format", "--check", ".")
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    "room", sorted(p.parent.name for p in SOURCE.glob("*/__init__.py") if "deferred(" in p.read_text(encoding="utf-8"))
)
def test_no_name_that_a_room_offers_is_also_one_of_its_files(room):
    files = {path.stem for path in (SOURCE / room).glob("*.py")}
    offered = set(getattr(importlib.import_module(f"evalmark.{room}"), "__all__", ()))
    assert not files & offered


def test_foreign_code_is_caught_in_the_known_places_only():
    """`except Exception` stands where users' objects are called, and nowhere else (DESIGN: a failing case is a result)."""
    found = {
        f"{path.relative_to(SOURCE)}:{node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(catches_everything, ast.walk(node)))
    }
    assert found == CATCH_FOREIGN_CODE


def catches_everything(node):
    """Whether a handler takes any exception and does not hand it on."""
    if not isinstance(node, ast.ExceptHandler) or (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(kind is None or getattr(kind, "id", "") in {"Exception", "BaseException"} for kind in kinds)
