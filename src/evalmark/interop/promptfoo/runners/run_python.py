#!/usr/bin/env python3
"""Call a provider of promptfoo that is a Python function or a program.

The request comes from standard input, as JSON, and the result is printed as JSON.
"""

import asyncio
import contextlib
import inspect
import json
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def call_function(request: dict[str, Any]) -> Any:
    """Call the function `function` in the file `script`."""
    path = HERE / request["script"]
    sys.path.insert(0, str(path.parent))
    function = runpy.run_path(str(path), run_name=path.stem)[request["function"]]
    result = function(request["prompt"], request["options"], request["context"])
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def call_program(request: dict[str, Any]) -> dict[str, Any]:
    """Run the program with the prompt, the options and the context as its last arguments."""
    last = [request["prompt"], json.dumps(request["options"]), json.dumps(request["context"])]
    words = [*shlex.split(request["program"]), *last]
    done = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False)  # noqa: S603  the user named it
    sys.stderr.write(done.stderr)
    return {"output": done.stdout.strip()} if done.returncode == 0 else {"error": f"exit status {done.returncode}"}


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    if not isinstance(request["prompt"], str):
        request["prompt"] = json.dumps(request["prompt"])
    with contextlib.redirect_stdout(sys.stderr):  # what the script prints is no part of the result
        result = call_program(request) if "program" in request else call_function(request)
    result = result if isinstance(result, dict) else {"output": result}
    if result.get("error"):
        sys.exit(str(result["error"]))
    sys.stdout.write(json.dumps({"output": result.get("output")}, default=str))


if __name__ == "__main__":
    main()
