"""The runtimes of the embedding model note nothing of whoever uses them, and report nothing."""

import importlib.util
import os
import subprocess
import sys

import pytest

EMBEDS = """
import asyncio, sys
from pathlib import Path
from evalmark.models.embeddings.weights import KNOWN_MODELS
from evalmark.models.embeddings.local import open_local
assert len(asyncio.run(open_local(Path(sys.argv[1]), "{mode}", KNOWN_MODELS[0].pins)(["Where is Oslo?"]))) == 1
"""


@pytest.mark.parametrize("mode", ["exact", "int8", "fast"])
def test_a_process_that_embeds_leaves_nothing_of_the_runtime_in_an_empty_home(minilm_folder, tmp_path, mode):
    if mode == "fast" and importlib.util.find_spec("openvino") is None:
        pytest.skip("openvino is not installed: pip install 'evalmark[openvino]'")
    # The runtime takes some of these for a wish to be left alone.
    telling = ("ORT_", "CI", "GITHUB_ACTIONS", "TF_BUILD")
    own = {name: value for name, value in os.environ.items() if not name.startswith(telling)}
    own |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache")}
    command = [sys.executable, "-c", EMBEDS.format(mode=mode), str(minilm_folder)]
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [str(path) for path in tmp_path.rglob("*") if path.is_file()] == []
