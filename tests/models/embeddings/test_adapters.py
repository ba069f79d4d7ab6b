"""Embedders of others: what they may be, and what is said when they misbehave."""

import asyncio
import functools
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from evalmark.core.settings import Settings
from evalmark.errors import ConfigError, MissingExtraError, ModelError
from evalmark.models.embeddings.adapters import as_embedder
from evalmark.models.embeddings.load import load_embedder
from evalmark.models.embeddings.local import LocalEmbedder
from evalmark.testing.embedders import HashEmbedder

from .tiny import Tiny


def lengths(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), 1.0] for text in texts])


async def lengths_async(texts: list[str]) -> list[list[int]]:
    await asyncio.sleep(0)
    return [[len(text), 1] for text in texts]


class Lengths:
    def __call__(self, texts: list[str]) -> np.ndarray:
        return lengths(texts)

    def method(self, texts: list[str]) -> np.ndarray:
        return lengths(texts)

    async def method_async(self, texts: list[str]) -> np.ndarray:
        return lengths(texts)


class LangChainLike:
    def __init__(self, model: str = "m") -> None:
        self.model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return lengths(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class AsyncLangChainLike(LangChainLike):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("the async form is there to be used")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return lengths(texts).tolist()


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(lengths, id="a function"),
        pytest.param(lengths_async, id="an async function of lists"),
        pytest.param(lambda texts: lengths(texts), id="a lambda"),
        pytest.param(lambda texts: lengths_async(texts), id="a lambda around an async function"),
        pytest.param(functools.partial(lengths), id="a partial"),
        pytest.param(functools.partial(lengths_async), id="a partial of an async function"),
        pytest.param(Lengths(), id="an object that can be called"),
        pytest.param(Lengths().method, id="a method"),
        pytest.param(Lengths().method_async, id="an async method"),
        pytest.param(lambda texts: [tuple(row) for row in lengths(texts)], id="a list of tuples"),
        pytest.param(lambda texts: lengths(texts).astype(np.float16), id="halves"),
        pytest.param(LangChainLike(), id="LangChain's Embeddings"),
        pytest.param(AsyncLangChainLike(), id="LangChain's Embeddings with an async form"),
    ],
)
def test_whatever_turns_texts_into_rows_is_an_embedder(thing: object):
    embedder = as_embedder(thing)
    vectors = asyncio.run(embedder(["a", "bcd"]))
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[1, 1], [3, 1]]
    assert isinstance(embedder.fingerprint, str)


def test_an_embedder_is_taken_as_it_is():
    inner = HashEmbedder()
    assert as_embedder(inner) is inner


@pytest.mark.parametrize("thing", [None, 7, "all-MiniLM", [1.0], Lengths, SimpleNamespace(), {"model": "x"}])
def test_anything_else_is_refused_before_the_run(thing: object):
    with pytest.raises(ConfigError, match="is not an embedder"):
        as_embedder(thing)


def raises(error: BaseException):
    def embed(texts: list[str]) -> None:
        raise error

    return embed


class HalfWay:
    """Gives up at the third text."""

    def __call__(self, texts: list[str]) -> list[list[float]]:
        rows = []
        for number, text in enumerate(texts):
            if number == 2:
                raise ConnectionError("the model went away")
            rows.append([float(len(text))])
        return rows


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        pytest.param(lambda t: np.zeros(3), r"shape \(3,\)", id="one vector for all"),
        pytest.param(lambda t: np.zeros((3, 2, 2)), r"shape \(3, 2, 2\)", id="a cube"),
        pytest.param(lambda t: np.zeros((2, 4)), r"shape \(2, 4\); expected 3 vectors", id="a row too few"),
        pytest.param(lambda t: np.zeros((4, 4)), r"shape \(4, 4\); expected 3 vectors", id="a row too many"),
        pytest.param(lambda t: np.zeros((3, 0)), r"shape \(3, 0\)", id="rows of nothing"),
        pytest.param(lambda t: [], r"shape \(0,\)", id="an empty list"),
        pytest.param(
            lambda t: [[1.0], [1.0, 2.0], [1.0]], "did not return 3 vectors of equal length", id="ragged rows"
        ),
        pytest.param(lambda t: None, "type object", id="nothing"),
        pytest.param(lambda t: "vector", "expected 3 vectors", id="a text"),
        pytest.param(lambda t: [["a"], ["b"], ["c"]], "expected 3 vectors", id="rows of texts"),
        pytest.param(lambda t: np.zeros((3, 2), bool), "type bool", id="truth values"),
        pytest.param(lambda t: np.zeros((3, 2), complex), "type complex128", id="complex numbers"),
        pytest.param(
            lambda t: [[1.0], [np.nan], [1.0]], "not finite in 1 of 3 vectors, the first at index 1", id="NaN"
        ),
        pytest.param(lambda t: [[1.0], [1.0], [np.inf]], "the first at index 2", id="infinity"),
        pytest.param(lambda t: [[1.0], [1e300], [1.0]], "the first at index 1", id="too large for 32 bits"),
        pytest.param(raises(ValueError("out of quota")), "raised ValueError: out of quota", id="an exception"),
        pytest.param(raises(SystemExit(3)), "raised SystemExit: 3", id="an attempt to end the program"),
        pytest.param(HalfWay(), "raised ConnectionError: the model went away", id="a failure half way"),
        pytest.param(lambda: None, "raised TypeError", id="a function of nothing"),
    ],
)
def test_an_embedder_that_misbehaves_is_said_in_one_sentence(thing: object, said: str):
    with pytest.raises(ModelError, match=said) as caught:
        asyncio.run(as_embedder(thing)(["a", "b", "c"]))
    assert "The embedder " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_numbers_are_zero_vectors_only_where_the_embedder_says_so():
    assert asyncio.run(as_embedder(lambda t: np.zeros((len(t), 2)))(["a"])).tolist() == [[0, 0]]


def test_a_function_is_known_by_its_place_and_its_code():
    name = as_embedder(lengths).fingerprint
    assert name.startswith(f"function:{__name__}:lengths#")
    assert as_embedder(lengths).fingerprint == name
    copy = type(lengths)(lengths_async.__code__, globals(), "lengths")
    copy.__qualname__, copy.__module__ = lengths.__qualname__, lengths.__module__
    assert as_embedder(copy).fingerprint != name


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: lambda texts: lengths(texts), id="a lambda"),
        pytest.param(lambda: functools.partial(lengths), id="a partial"),
        pytest.param(Lengths, id="an object"),
        pytest.param(lambda: Lengths().method, id="a bound method"),
        pytest.param(lambda: raises(ValueError()), id="a local function"),
    ],
)
def test_what_has_no_lasting_name_shares_no_vectors(make):
    assert as_embedder(make()).fingerprint != as_embedder(make()).fingerprint


def test_the_fingerprint_lasts_from_process_to_process(world: Path):
    (world / "mine.py").write_text(
        "def embed(texts):\n    return [[len(t), t in {'a', 'b', 'c', 'd'}] for t in texts]\n", encoding="utf-8"
    )
    code = "import mine; from evalmark.models.embeddings.adapters import as_embedder; print(as_embedder(mine.embed).fingerprint)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    ]
    assert len(set(runs)) == 1


def test_langchain_models_are_told_apart_by_their_model():
    a, b = (as_embedder(LangChainLike(model)).fingerprint for model in ("small", "large"))
    assert a.startswith("langchain:")
    assert a != b


def test_the_real_langchain_interface():
    core = pytest.importorskip("langchain_core.embeddings")
    embedder = as_embedder(core.DeterministicFakeEmbedding(size=6))
    assert asyncio.run(embedder(["a", "b"])).shape == (2, 6)
    assert "size=6" in embedder.fingerprint


def test_a_sentence_transformer_object_is_asked_to_encode():
    module = ModuleType("sentence_transformers.fake")
    exec(  # noqa: S102  a class whose module has the library's name
        "import numpy as np\n"
        "class SentenceTransformer:\n"
        "    def __call__(self, features): raise AssertionError('a forward pass of tensors')\n"
        "    def encode(self, texts, convert_to_numpy, show_progress_bar):\n"
        "        assert convert_to_numpy and not show_progress_bar\n"
        "        return np.ones((len(texts), 3))\n",
        module.__dict__,
    )
    assert asyncio.run(as_embedder(module.SentenceTransformer())(["a", "b"])).shape == (2, 3)


# The names that stand for embedders


def test_a_model_folder_is_found_from_here_and_from_the_suites_folder(world: Path):
    folder = Tiny().write(world / "suite" / "model")
    from_here = load_embedder("suite/model", Settings())
    beside = load_embedder("model", Settings(), (world / "suite",))
    assert isinstance(from_here, LocalEmbedder)
    assert from_here is beside is load_embedder(str(folder), Settings())


def test_an_object_of_a_module_is_an_embedder_under_its_name(world: Path):
    (world / "my_embedders.py").write_text(
        "class E:\n    def __call__(self, texts):\n        return [[1.0]] * len(texts)\n\n\nhere = E()\nbad = 3\n",
        encoding="utf-8",
    )
    embedder = load_embedder("my_embedders:here", Settings(), (world,))
    assert embedder.fingerprint == "function:my_embedders:here"
    assert asyncio.run(embedder(["a"])).tolist() == [[1.0]]
    with pytest.raises(ConfigError, match="my_embedders:bad is not an embedder"):
        load_embedder("my_embedders:bad", Settings(), (world,))
    with pytest.raises(ConfigError, match="nothing"):
        load_embedder("my_embedders:nothing", Settings(), (world,))


@pytest.mark.parametrize("name", ["", "all-minilm", "no/such/folder", "text-embedding-3-small", "\x00"])
def test_a_name_for_nothing_is_said_at_once_with_all_that_it_could_be(name: str, world: Path):
    with pytest.raises(ConfigError) as caught:
        load_embedder(name, Settings())
    for part in ("There is no embedding model", repr(name), "all-MiniLM-L6-v2", "package.module:attribute"):
        assert part in str(caught.value)


def test_a_folder_without_a_model_is_said_at_once(world: Path):
    with pytest.raises(ModelError, match=r"missing files: config\.json"):
        load_embedder(".", Settings())


def test_sentence_transformers_are_an_extra():
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match=r"evalmark\[sentence-transformers\]"):
            load_embedder("sentence-transformers:all-MiniLM-L6-v2", Settings())
    else:
        with pytest.raises(ModelError, match="cannot load"):
            load_embedder("sentence-transformers:no/such/model", Settings(offline=True))
