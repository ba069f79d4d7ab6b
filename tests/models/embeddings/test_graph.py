"""The graph gives the vectors that the forward pass on paper gives, for every shape of the family."""

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evalmark.models.embeddings.bert import write_graph
from evalmark.models.embeddings.folder import read_folder
from evalmark.models.embeddings.local import LocalEmbedder

from .tiny import Tiny

TEXTS = {
    "the cat": [2, 9, 10, 3],
    "the cats . the dog !": [2, 9, 10, 12, 13, 9, 11, 14, 3],
    "a": [2, 5, 3],
    "b under": [2, 6, 1, 3],
    "": [2, 3],
    "a b c a b c a b c a b c a b c": [2, 5, 6, 7, 5, 6, 7, 5, 6, 3],
}


@pytest.mark.parametrize(
    "tiny",
    [
        pytest.param(Tiny(), id="BERT, mean, normalised"),
        pytest.param(Tiny(pooling="cls"), id="the first token instead of the mean"),
        pytest.param(Tiny(normalise=False), id="the mean as it is"),
        pytest.param(Tiny(pooling="cls", normalise=False), id="the first token as it is"),
        pytest.param(Tiny(act="gelu_new"), id="GELU by tanh"),
        pytest.param(Tiny(act="gelu_pytorch_tanh"), id="GELU by tanh, as torch calls it"),
        pytest.param(Tiny(act="relu"), id="ReLU"),
        pytest.param(Tiny(family="roberta"), id="RoBERTa: places start behind the padding's"),
        pytest.param(Tiny(family="xlm-roberta", prefix="roberta."), id="names with a prefix"),
        pytest.param(Tiny(prefix="bert."), id="BERT with a prefix"),
        pytest.param(Tiny(dtype="F16"), id="weights in 16 bits"),
        pytest.param(Tiny(dtype="BF16"), id="weights in bf16"),
        pytest.param(Tiny(layers=5, heads=4, hidden=16, inner=8, seed=7), id="other numbers of everything"),
        pytest.param(Tiny(heads=1, layers=1), id="one head, one layer"),
        pytest.param(Tiny(config={"layer_norm_eps": 0.1}), id="another epsilon"),
    ],
)
def test_vectors_are_those_of_the_plain_forward_pass(tiny: Tiny, tmp_path: Path):
    given = asyncio.run(LocalEmbedder(tiny.write(tmp_path))(list(TEXTS)))
    wanted = np.array([tiny.vector(tokens) for tokens in TEXTS.values()])
    np.testing.assert_allclose(given, wanted, atol=2e-5)
    assert given.dtype == np.float32


def test_each_part_of_the_model_changes_its_fingerprint(tmp_path: Path):
    models = [Tiny(), Tiny(seed=2), Tiny(pooling="cls"), Tiny(normalise=False), Tiny(longest=9), Tiny(act="relu")]
    models += [Tiny(heads=4), Tiny(lower=True), Tiny(config={"layer_norm_eps": 1e-6})]
    prints = [LocalEmbedder(m.write(tmp_path / str(i))).fingerprint for i, m in enumerate(models)]
    assert len(set(prints)) == len(models)
    assert LocalEmbedder(Tiny().write(tmp_path / "again")).fingerprint == prints[0]


def test_the_fingerprint_does_not_depend_on_the_place(tmp_path: Path):
    a, b = (LocalEmbedder(Tiny().write(tmp_path / name)).fingerprint for name in ("a", "b ü"))
    assert a == b


def test_a_folder_with_any_name_can_be_run(tmp_path: Path):
    folder = Tiny().write(tmp_path / "Größe & 模型")
    assert asyncio.run(LocalEmbedder(folder)(["a"])).shape == (1, 12)


def test_weights_behind_a_symbolic_link_are_read_where_they_are(tmp_path: Path):
    folder = Tiny().write(tmp_path / "snapshot")
    blob = tmp_path / "blobs" / "5f"
    blob.parent.mkdir()
    (folder / "model.safetensors").rename(blob)
    (folder / "model.safetensors").symlink_to(blob)
    np.testing.assert_allclose(asyncio.run(LocalEmbedder(folder)(["a"]))[0], Tiny().vector([2, 5, 3]), atol=2e-5)


def test_the_written_model_is_valid_onnx(tmp_path: Path):
    onnx = pytest.importorskip("onnx")
    folder = read_folder(Tiny().write(tmp_path))
    for inline in (False, True):
        model = onnx.load_from_string(write_graph(folder.weights, folder.encoder, inline=inline))
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        onnx.checker.check_model(str(path), full_check=True)
        assert [i.name for i in model.graph.input] == ["input_ids", "attention_mask"]


@pytest.mark.parametrize("tiny", [Tiny(), Tiny(pooling="cls", normalise=False, dtype="BF16", family="roberta")])
def test_openvino_gives_the_same_vectors_in_32_bits(tiny: Tiny, tmp_path: Path):
    pytest.importorskip("openvino")
    from evalmark.models.embeddings.runtime import open_openvino

    infer = open_openvino(read_folder(tiny.write(tmp_path)), precision="f32")
    tokens = np.array([[2, 9, 10, 3], [2, 5, 3, 0]], np.int32)
    given = infer(tokens, (tokens > 0).astype(np.int32))
    np.testing.assert_allclose(given, [tiny.vector([2, 9, 10, 3]), tiny.vector([2, 5, 3])], atol=2e-5)


def test_threads_that_all_begin_at_once_do_not_wait_for_each_other_for_ever(tmp_path: Path):
    pytest.importorskip("openvino")
    code = (
        "import sys, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from evalmark.models.embeddings.folder import read_folder\n"
        "from evalmark.models.embeddings.runtime import open_openvino\n"
        "infer, together = open_openvino(read_folder(Path(sys.argv[1])), precision='f32'), threading.Barrier(8)\n"
        "one = np.ones((1, 1), np.int32)\n"
        "def work(_): together.wait(); return infer(one, one).shape\n"
        "with ThreadPoolExecutor(8) as pool: print(set(pool.map(work, range(8))))\n"
    )
    folder = str(Tiny().write(tmp_path))
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "{(1, 12)}"
