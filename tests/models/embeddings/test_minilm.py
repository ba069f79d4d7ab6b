"""all-MiniLM-L6-v2 itself: the model card's figures, odd texts, neighbours."""

import asyncio
import random
import subprocess
import sys

import numpy as np
import pytest

from evalmark.models.embeddings.cached_embedder import CachedEmbedder
from evalmark.models.embeddings.local import LocalEmbedder

from .tiny import Tiny

CARD = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]


def embed(embedder, texts) -> np.ndarray:
    return asyncio.run(embedder(texts))


def test_the_example_of_the_model_card_comes_out(minilm: LocalEmbedder):
    vectors = embed(minilm, CARD)
    cosines = vectors @ vectors.T
    wanted = [[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]]
    np.testing.assert_allclose(cosines, wanted, atol=1e-4)


def test_it_agrees_with_a_plain_numpy_forward_pass(minilm: LocalEmbedder):
    texts = [CARD[0], "", "Ein Satz, den das Modell kaum kennt: Überraschung!", "word " * 300]
    tiny = over_the_real_weights(minilm)
    wanted = [tiny.vector(encoding.ids) for encoding in minilm.tokenizer(texts)]
    np.testing.assert_allclose(embed(minilm, texts), wanted, atol=2e-6)


def over_the_real_weights(minilm: LocalEmbedder) -> Tiny:
    """The tiny model's forward pass with other numbers of everything."""
    tiny = Tiny(layers=0, heads=12, hidden=384, config={"layer_norm_eps": 1e-12})
    tiny.layers = 6
    weights = minilm.folder.weights
    data = weights.path.read_bytes()
    for name, tensor in weights.tensors.items():
        if tensor.dtype == "F32":
            array = np.frombuffer(data, "<f4", count=tensor.length // 4, offset=tensor.offset)
            tiny.weights[name] = array.reshape(tensor.shape)
    return tiny


def test_a_vector_does_not_depend_on_its_neighbours(each_mode: LocalEmbedder):
    rng = random.Random(5)  # noqa: S311  any sentences will do
    words = [
        "the",
        "a",
        "cat",
        "runs",
        "over",
        "lazy",
        "dogs",
        "while",
        "rain",
        "falls",
        "on",
        "seventeen",
        "houses",
        "near",
        "Paris",
    ]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 120))) for _ in range(60)]
    together = embed(each_mode, texts)
    shuffled = [*texts[::-1], "padding " * 200]
    np.testing.assert_allclose(embed(each_mode, shuffled)[:-1][::-1], together, atol=1e-5)
    for index in (0, 7, 31, 59):
        np.testing.assert_allclose(embed(each_mode, [texts[index]])[0], together[index], atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("  \t\n ", id="only spaces"),
        pytest.param("a\x00b", id="a NUL"),
        pytest.param("half \ud83d of a smiley", id="a lone surrogate"),
        pytest.param("😀👩‍👩‍👧‍👦🇩🇪", id="emoji"),
        pytest.param("x" * 100_000, id="one word of 100,000 letters"),
        pytest.param("lang und breit " * 7_000, id="100,000 characters of words"),
        pytest.param("\u202e\u0301\ufeff", id="marks without letters"),
        pytest.param("漢字" * 300, id="600 Chinese characters"),
    ],
)
def test_odd_texts_have_a_vector_too(text: str, each_mode: LocalEmbedder):
    vectors = embed(each_mode, ["before", text, "after"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(vectors[[0, 2]], embed(each_mode, ["before", "after"]), atol=1e-5)


def test_a_lone_surrogate_counts_as_the_replacement_character(each_mode: LocalEmbedder):
    a, b, c = embed(each_mode, ["x \ud83d y", "x \ufffd y", "x y"])
    np.testing.assert_array_equal(a, b)
    pair, smiley = embed(each_mode, ["\ud83d\ude00 yes", "😀 yes"])
    np.testing.assert_array_equal(pair, smiley)
    assert c.shape == (384,)


def test_only_the_first_256_tokens_count_and_that_is_said_once_with_a_count(each_mode: LocalEmbedder):
    cached = CachedEmbedder(each_mode)
    long, longer, fits = "cat " * 255, "cat " * 254 + "dog dog", "cat " * 254
    vectors = embed(cached, [long, longer, fits, "short", long])
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    embed(cached, [long, "another"])
    assert cached.notes()[-1:] == ("2 of 5 texts were longer than the model's 256 tokens and were truncated.",)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("한국어 " * 60, id="180 Korean syllables of three letters each"),
        pytest.param("漢字" * 130, id="260 Chinese characters"),
        pytest.param("a." * 128, id="256 ASCII characters"),
    ],
)
def test_texts_of_few_characters_and_many_tokens_are_counted_too(text: str, minilm: LocalEmbedder):
    assert minilm.tokenizer([text])[0].overflowing
    assert minilm.too_long([text, "short", "kurz für ß"]) == 1


def test_texts_that_were_just_embedded_whole_are_not_tokenized_again(minilm: LocalEmbedder, monkeypatch):
    long, cut, other = "cat " * 250, "cat " * 300, "dog " * 300
    embed(minilm, [long, cut])
    tokenized = []
    original = minilm.tokenizer
    monkeypatch.setitem(vars(minilm), "tokenizer", lambda texts: tokenized.extend(texts) or original(texts))
    assert minilm.too_long([long, cut, other]) == 2
    assert tokenized == [cut, other]


def test_no_texts_are_no_vectors(each_mode: LocalEmbedder):
    assert embed(each_mode, []).shape == (0, 384)
    assert len(embed(CachedEmbedder(each_mode), [])) == 0


def test_a_cancelled_call_stops_its_threads_and_the_next_one_is_whole(each_mode: LocalEmbedder):
    texts = [f"sentence number {n} of a rather long list of sentences" for n in range(400)]

    async def main() -> np.ndarray:
        task = asyncio.create_task(each_mode(texts))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await each_mode(texts[:3])

    assert np.linalg.norm(asyncio.run(main()), axis=1) == pytest.approx(1, abs=1e-5)


def test_neither_torch_nor_transformers_are_loaded(minilm_folder):
    code = (
        "import asyncio, sys\n"
        "from evalmark.models.embeddings.local import LocalEmbedder\n"
        f"asyncio.run(LocalEmbedder(__import__('pathlib').Path({str(minilm_folder)!r}))(['a']))\n"
        "assert not {'torch', 'transformers', 'sentence_transformers', 'onnx', 'urllib.request'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
