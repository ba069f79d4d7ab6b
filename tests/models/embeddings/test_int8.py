"""Vectors by 8-bit integers: near those of exact mode, the same whatever stands beside a text, and never mixed with others."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.errors import ConfigError, ModelError
from evalmark.models.embeddings.bert import write_graph
from evalmark.models.embeddings.cached_embedder import CachedEmbedder, MemoryVectorCache
from evalmark.models.embeddings.folder import read_folder
from evalmark.models.embeddings.local import LocalEmbedder, open_local
from evalmark.models.embeddings.onnx import FLOAT, GraphWriter
from evalmark.models.embeddings.quantization import QuantizedLinear, read_matrix
from evalmark.models.embeddings.runtime import onnx_runtime, open_int8, saturates_signed_products
from evalmark.models.embeddings.tensors import read_tensor_file

from .test_graph import TEXTS
from .tiny import Tiny, safetensors

ORT = onnx_runtime()
PROSE = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
    "A refund takes five working days, and is paid to the card that was charged.",
    "",
    "seventeen",
    "The bridge was built in 1894 by an engineer who had never seen a river as wide as this one before. " * 4,
    "Überraschung! 漢字 😀",
]


def embed(embedder, texts) -> np.ndarray:
    return asyncio.run(embedder(list(texts)))


@pytest.fixture(scope="session")
def int8(minilm_folder: Path) -> LocalEmbedder:
    return open_local(minilm_folder, "int8")


@pytest.mark.parametrize(
    "tiny",
    [
        pytest.param(Tiny(), id="BERT, mean, normalised"),
        pytest.param(Tiny(pooling="cls", normalise=False), id="the first token as it is"),
        pytest.param(Tiny(act="gelu_new"), id="GELU by tanh"),
        pytest.param(Tiny(act="relu"), id="ReLU"),
        pytest.param(Tiny(family="roberta", prefix="roberta."), id="RoBERTa with a prefix"),
        pytest.param(Tiny(dtype="F16"), id="weights in 16 bits"),
        pytest.param(Tiny(dtype="BF16"), id="weights in bf16"),
        pytest.param(Tiny(layers=5, heads=4, hidden=16, inner=8, seed=7), id="other numbers of everything"),
    ],
)
def test_vectors_are_near_those_of_exact_mode(tiny: Tiny, tmp_path: Path):
    found = embed(LocalEmbedder(tiny.write(tmp_path), "int8"), TEXTS)
    wanted = np.array([tiny.vector(tokens) for tokens in TEXTS.values()])
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(wanted, axis=1)
    assert ((found * wanted).sum(axis=1) / lengths).min() > 0.99
    assert found.dtype == np.float32


def product(weights: np.ndarray, rows: np.ndarray, folder: Path, *, unsigned: bool) -> np.ndarray:
    """Rows times weights, by a graph of that alone."""
    path = folder / "one.safetensors"
    path.write_bytes(safetensors({"a.weight": weights, "a.bias": np.zeros(len(weights))}))
    g = GraphWriter(read_tensor_file(path), inline=True)
    as_floats = g.op("Cast", "rows", to=FLOAT)
    out = QuantizedLinear(unsigned=unsigned)(g, "a", as_floats, weights.shape[1], len(weights))
    session = ORT.InferenceSession(g.model(("rows",), out, len(weights)), providers=["CPUExecutionProvider"])
    return session.run(None, {"rows": rows.astype(np.int32)})[0]


@pytest.fixture(scope="module")
def unsigned(tmp_path_factory) -> bool:
    """What this processor needs."""
    return saturates_signed_products(read_folder(Tiny().write(tmp_path_factory.mktemp("tiny"))))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 9), inputs=st.integers(1, 70))
def test_a_product_is_off_by_half_a_step_at_most(seed: int, count: int, inputs: int, tmp_path_factory, unsigned: bool):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(5, inputs)).astype(np.float32)
    rows = rng.integers(-1000, 1000, (count, inputs))
    found = product(weights, rows, tmp_path_factory.mktemp("one"), unsigned=unsigned)
    steps = np.abs(weights).max(axis=1) / 127
    reach = np.maximum(rows.max(axis=1), 0) - np.minimum(rows.min(axis=1), 0)
    off = np.abs(rows).sum(axis=1)[:, None] * steps / 2  # of the weights
    off = off + 0.51 * reach[:, None] / 255 * (np.abs(weights).sum(axis=1) + inputs * steps)  # of the rows
    assert (np.abs(found - rows @ weights.T.astype(float)) <= off + 1e-3).all()


@pytest.mark.parametrize(
    ("weight", "row", "wanted"),
    [
        pytest.param(1.0, 1, 64, id="every product the largest"),
        pytest.param(-1.0, 1, -64, id="every product the least"),
        pytest.param(1.0, -3, -192, id="every number below zero"),
        pytest.param(1.0, 0, 0, id="a row of zeros"),
        pytest.param(0.0, 5, 0, id="weights of zeros"),
    ],
)
@pytest.mark.parametrize("count", [1, 8])
def test_no_sum_is_cut_off(weight: float, row: int, wanted: float, count: int, tmp_path: Path, unsigned: bool):
    found = product(np.full((32, 64), weight), np.full((count, 64), row), tmp_path, unsigned=unsigned)
    np.testing.assert_allclose(found, np.full((count, 32), wanted), rtol=1e-6)


def test_weights_without_a_sign_give_the_very_same_vectors(tmp_path: Path):
    """Which of the two is used depends on the processor, so vectors of several machines are of one kind."""
    folder = read_folder(Tiny(hidden=32, inner=64, heads=4).write(tmp_path))
    tokens = np.array([[2, 9, 10, 3], [2, 5, 3, 0]], np.int32)
    mask = (tokens > 0).astype(np.int32)
    as_here, without_sign = open_int8(folder), open_int8(folder, unsigned=True)
    np.testing.assert_array_equal(without_sign(tokens, mask), as_here(tokens, mask))


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(len(PROSE))), count=st.integers(1, len(PROSE)))
def test_a_vector_does_not_depend_on_what_stands_beside_its_text(int8: LocalEmbedder, order: list[int], count: int):
    together, some = embed(int8, PROSE), order[:count]
    # What is left is the order in which 32-bit floats are summed up, as in exact mode.
    np.testing.assert_allclose(embed(int8, [PROSE[i] for i in some]), together[some], atol=1e-6, rtol=0)


def test_the_error_is_that_which_the_page_tells(minilm: LocalEmbedder, int8: LocalEmbedder):
    exact, found = embed(minilm, PROSE), embed(int8, PROSE)
    assert np.mean(1 - (exact * found).sum(axis=1)) < 1.5e-3
    assert 1e-5 < np.abs(exact @ exact.T - found @ found.T).max() < 0.04


def test_each_mode_has_a_fingerprint_of_its_own_and_no_vector_is_another_modes(tmp_path: Path):
    folder, cache = Tiny().write(tmp_path), MemoryVectorCache()
    exact, int8 = LocalEmbedder(folder), LocalEmbedder(folder, "int8")
    prints = [exact.fingerprint, int8.fingerprint, LocalEmbedder(folder, "fast", bf16=lambda: True).fingerprint]
    assert len(set(prints)) == 3
    assert prints[1] == f"{prints[0]}:int8"
    for model in (exact, int8, exact):
        np.testing.assert_array_equal(embed(CachedEmbedder(model, cache), ["the cat"]), embed(model, ["the cat"]))
    assert not np.array_equal(embed(exact, ["the cat"]), embed(int8, ["the cat"]))


def test_a_run_says_that_its_cosines_are_near_ones(tmp_path: Path):
    embedder = CachedEmbedder(LocalEmbedder(Tiny().write(tmp_path), "int8"))
    assert embedder.notes() == ("Embeddings ran in int8 mode: similarities differ slightly from exact mode.",)


@pytest.mark.parametrize("mode", ["quick", "INT8", "", "int4"])
def test_a_mode_that_is_none_is_refused_in_one_sentence(mode: str, tmp_path: Path):
    with pytest.raises(ConfigError) as refused:
        LocalEmbedder(tmp_path, mode)
    assert str(refused.value) == (f"The local embedding model has no mode {mode!r}; its modes are exact, fast, int8.")


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused_with_their_name(odd: float, tmp_path: Path):
    tiny = Tiny()
    tiny.weights["encoder.layer.1.intermediate.dense.weight"][3, 2] = odd
    embedder = LocalEmbedder(tiny.write(tmp_path), "int8")
    with pytest.raises(
        ModelError, match=r"tensor 'encoder\.layer\.1\.intermediate\.dense\.weight' contains numbers that"
    ):
        embed(embedder, ["a"])


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_weights_are_read_as_they_are_in_every_type(dtype: str, tmp_path: Path):
    tiny = Tiny(dtype=dtype)
    name = "encoder.layer.0.output.dense.weight"
    read = read_matrix(read_folder(tiny.write(tmp_path)).weights, name, tiny.hidden, tiny.inner)
    np.testing.assert_array_equal(read, tiny.weights[name])


def test_the_written_model_is_valid_onnx(tmp_path: Path):
    onnx = pytest.importorskip("onnx")
    folder = read_folder(Tiny().write(tmp_path))
    for unsigned in (False, True):
        graph = write_graph(folder.weights, folder.encoder, inline=True, linear=QuantizedLinear(unsigned=unsigned))
        onnx.checker.check_model(onnx.load_from_string(graph), full_check=True)
