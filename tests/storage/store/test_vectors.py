import asyncio

import numpy as np
import pytest

from evalmark.errors import StoreError, StoreFullError
from evalmark.store import open_store

from .places import in_a_file

EVERYWHERE = True


def ask(store, model, texts):
    return asyncio.run(store.get(model, texts))


def keep(store, model, vectors):
    asyncio.run(store.put(model, vectors))


def vector(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)


def test_vectors_come_back_bit_for_bit_after_the_store_was_closed(path):
    made = {f"text {n}": np.random.default_rng(n).normal(size=384).astype(np.float32) for n in range(50)}
    with open_store(path) as store:
        keep(store, "model-1", made)
    with open_store(path) as store:
        found = ask(store, "model-1", [*made, "never seen"])
    assert found.keys() == made.keys()
    assert all(np.array_equal(found[text], made[text]) and found[text].dtype == np.float32 for text in made)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        pytest.param("model-2", "a", id="another model"),
        pytest.param("model-1", "a ", id="another text"),
        pytest.param("model-1a", "", id="the same letters, divided otherwise"),
        pytest.param("", "model-1a", id="no model"),
    ],
)
def test_other_models_and_texts_are_unknown(store, model, text):
    keep(store, "model-1", {"a": vector(1, 2)})
    assert ask(store, model, [text]) == {}


@pytest.mark.parametrize(
    "text",
    [pytest.param("\ud800", id="a lone surrogate"), pytest.param("a\x00b", id="a NUL"), pytest.param("", id="empty")],
)
def test_any_text_has_a_vector(store, text):
    keep(store, "m", {text: vector(3)})
    assert ask(store, "m", [text])[text].tolist() == [3]


def test_a_vector_that_is_kept_again_is_replaced(store):
    keep(store, "m", {"a": vector(1)})
    keep(store, "m", {"a": vector(2, 3)})
    assert ask(store, "m", ["a"])["a"].tolist() == [2, 3]


@in_a_file
def test_a_damaged_vector_is_unknown(store, path):
    import apsw

    keep(store, "m", {"a": vector(1)})
    db = apsw.Connection(str(path))
    db.execute("update vector set numbers = x'010203'")
    db.close()
    assert ask(store, "m", ["a"]) == {}


def test_a_store_for_reading_gives_vectors_and_takes_none(path):
    with open_store(path) as store:
        keep(store, "m", {"a": vector(1)})
    with open_store(path, read_only=True) as store:
        assert list(ask(store, "m", ["a"])) == ["a"]
        with pytest.raises(StoreError, match="opened for reading only"):
            keep(store, "m", {"b": vector(1)})


@in_a_file
def test_a_full_disk_is_said_with_the_room_that_is_needed(path):
    with (
        open_store(path, max_pages=20) as store,
        pytest.raises(StoreFullError, match=r"the vectors needs about 1\.6 MB"),
    ):
        keep(store, "m", {str(n): np.zeros(400, dtype=np.float32) for n in range(1000)})
