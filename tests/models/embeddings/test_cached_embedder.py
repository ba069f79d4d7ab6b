"""Callers at the same time share the work, and each other's failures only where they share texts."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.errors import ModelError, StoreFullError
from evalmark.models.embeddings.cached_embedder import CachedEmbedder, MemoryVectorCache
from evalmark.testing.embedders import AngleEmbedder, HashEmbedder


@dataclass
class Watched(MemoryVectorCache):
    """A cache that remembers how it was asked."""

    gets: list[list[str]] = field(default_factory=list)
    puts: list[list[str]] = field(default_factory=list)

    async def get(self, fingerprint: str, texts: Sequence[str]) -> Mapping:
        self.gets.append(list(texts))
        return await MemoryVectorCache.get(self, fingerprint, texts)

    async def put(self, fingerprint: str, vectors: Mapping) -> None:
        self.puts.append(list(vectors))
        await MemoryVectorCache.put(self, fingerprint, vectors)


def alone(texts: Sequence[str]) -> np.ndarray:
    return asyncio.run(HashEmbedder()(texts))


async def begun(inner: HashEmbedder) -> None:
    """Return when the embedder has been called."""
    while not inner.requests:  # noqa: ASYNC110  the fake has no event, as a real embedder has none
        await asyncio.sleep(0)


def test_callers_at_the_same_time_are_one_call_with_each_text_once():
    inner, cache = HashEmbedder(), Watched()
    embedder = CachedEmbedder(inner, cache)
    asked = [["a", "b"], ["b", "c", "b"], ["a"], ["d"]]

    async def main():
        return await asyncio.gather(*(embedder(texts) for texts in asked))

    for texts, vectors in zip(asked, asyncio.run(main()), strict=True):
        np.testing.assert_array_equal(vectors, alone(texts))
    assert inner.requests == [("a", "b", "c", "d")]
    assert cache.gets == cache.puts == [["a", "b", "c", "d"]]


def test_callers_that_come_a_little_later_still_join():
    inner = HashEmbedder()
    embedder = CachedEmbedder(inner)

    async def late(turns: int):
        for _ in range(turns):
            await asyncio.sleep(0)
        return await embedder([f"after {turns} turns"])

    async def main():
        await asyncio.gather(*(late(turns) for turns in range(20)))

    asyncio.run(main())
    assert len(inner.requests) == 1


def test_a_text_that_is_being_embedded_is_waited_for():
    inner = HashEmbedder(seconds=0.05)
    embedder = CachedEmbedder(inner, Watched(limit=0))

    async def main():
        first = asyncio.create_task(embedder(["a", "b"]))
        await begun(inner)
        return await asyncio.gather(first, embedder(["b", "c"]), embedder(["a"]))

    both, second, third = asyncio.run(main())
    np.testing.assert_array_equal(second, alone(["b", "c"]))
    np.testing.assert_array_equal(third[0], both[0])
    assert inner.requests == [("a", "b"), ("c",)]


def test_what_gathers_while_a_batch_runs_goes_together():
    inner = HashEmbedder(seconds=0.05)
    embedder = CachedEmbedder(inner)

    async def main():
        tasks = [asyncio.create_task(embedder(["first"]))]
        await begun(inner)
        for number in range(5):
            tasks.append(asyncio.create_task(embedder([str(number)])))
            await asyncio.sleep(0.005)
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert inner.requests == [("first",), ("0", "1", "2", "3", "4")]


def test_a_full_batch_does_not_wait_for_more():
    inner = HashEmbedder()
    embedder = CachedEmbedder(inner)
    texts = [f"{n}" + "x" * 50_000 for n in range(6)]
    np.testing.assert_array_equal(asyncio.run(embedder(texts)), alone(texts))
    assert [len(call) for call in inner.requests] == [3, 3]


def test_a_text_is_asked_for_once_in_a_run_even_if_the_cache_keeps_nothing():
    inner = HashEmbedder()
    embedder = CachedEmbedder(inner, Watched(limit=0))
    asyncio.run(embedder(["a", "b"]))
    asyncio.run(embedder(["b", "a", "c"]))
    assert inner.requests == [("a", "b"), ("c",)]


def test_what_the_cache_knows_is_not_embedded_again():
    cache = Watched()
    asyncio.run(CachedEmbedder(HashEmbedder(), cache)(["a", "b"]))
    inner = HashEmbedder()
    vectors = asyncio.run(CachedEmbedder(inner, cache)(["b", "c"]))
    np.testing.assert_array_equal(vectors, alone(["b", "c"]))
    assert inner.requests == [("c",)]


def test_another_model_does_not_get_the_vectors_of_this_one():
    cache = Watched()
    asyncio.run(CachedEmbedder(HashEmbedder(), cache)(["a"]))
    assert asyncio.run(CachedEmbedder(HashEmbedder(dimensions=3), cache)(["a"])).shape == (1, 3)


def test_a_failure_reaches_exactly_those_who_asked_for_its_texts_and_is_not_remembered():
    inner = HashEmbedder(fails_on="bad", seconds=0.01)
    embedder = CachedEmbedder(inner)

    async def main():
        first = [asyncio.create_task(embedder(["good"]))]
        await begun(inner)
        second = [embedder(["bad", "x"]), embedder(["x"])]
        return await asyncio.gather(*first, *second, return_exceptions=True)

    good, bad, with_bad = asyncio.run(main())
    assert good.shape == (1, 8)
    assert isinstance(bad, ModelError)
    assert isinstance(with_bad, ModelError)
    np.testing.assert_array_equal(asyncio.run(embedder(["x", "good"])), alone(["x", "good"]))


def test_a_failing_cache_fails_its_callers_too():
    class Full(Watched):
        async def put(self, fingerprint: str, vectors: Mapping) -> None:
            raise StoreFullError("the disk is full")

    with pytest.raises(StoreFullError, match="the disk is full"):
        asyncio.run(CachedEmbedder(HashEmbedder(), Full())(["a"]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(np.zeros((1, 4)), r"shape \(1, 4\); expected 2 vectors", id="too few rows"),
        pytest.param(np.zeros((2, 0)), r"shape \(2, 0\)", id="vectors without numbers"),
        pytest.param(np.full((2, 3), np.nan), "not finite in 2 of 2", id="NaN"),
        pytest.param(None, "expected 2 vectors", id="nothing"),
    ],
)
def test_an_embedder_that_breaks_its_promise_is_found_out(given: object, said: str):
    class Broken(HashEmbedder):
        async def __call__(self, texts):
            return given

    with pytest.raises(ModelError, match=said):
        asyncio.run(CachedEmbedder(Broken())(["a", "b"]))


def test_an_embedder_that_raises_is_named_with_what_it_raised():
    class Broken(HashEmbedder):
        async def __call__(self, texts):
            raise KeyError("quota")

    with pytest.raises(ModelError, match=r"The embedder testing:hash-8 raised KeyError: 'quota'"):
        asyncio.run(CachedEmbedder(Broken())(["a"]))


def test_a_cancelled_caller_takes_nothing_from_the_others():
    inner = HashEmbedder(seconds=0.05)
    embedder = CachedEmbedder(inner)

    async def main():
        tasks = [asyncio.create_task(embedder(["a", name])) for name in "bcd"]
        await begun(inner)
        tasks[0].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    cancelled, second, third = asyncio.run(main())
    assert isinstance(cancelled, asyncio.CancelledError)
    np.testing.assert_array_equal(np.stack([*second, third[1]]), alone(["a", "c", "d"]))
    asyncio.run(embedder(["a", "b"]))
    assert inner.requests == [("a", "b", "c", "d")]


def test_a_loop_that_ends_early_leaves_the_embedder_fit_for_the_next():
    inner = HashEmbedder(seconds=5)
    embedder = CachedEmbedder(inner)

    async def give_up():
        await asyncio.wait_for(embedder(["a"]), 0.02)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    object.__setattr__(inner, "seconds", 0.0)
    np.testing.assert_array_equal(asyncio.run(embedder(["a"])), alone(["a"]))


def test_it_serves_two_loops_at_the_same_time():
    embedder = CachedEmbedder(HashEmbedder(seconds=0.02))

    async def main():
        other = asyncio.to_thread(lambda: asyncio.run(embedder(["a", "b"])))
        return await asyncio.gather(other, embedder(["b", "c"]))

    first, second = asyncio.run(main())
    np.testing.assert_array_equal(first, alone(["a", "b"]))
    np.testing.assert_array_equal(second, alone(["b", "c"]))


def test_lone_surrogates_never_reach_the_cache():
    cache = Watched()
    asyncio.run(CachedEmbedder(HashEmbedder(), cache)(["a\ud800"]))
    assert cache.gets == [["a\ufffd"]]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        pytest.param("one text", "list of texts", id="a text instead of a list"),
        pytest.param(["a", {"b": 1}], "found a dict", id="an object among the texts"),
        pytest.param(["a", None], "found a NoneType", id="nothing among the texts"),
    ],
)
def test_what_is_no_text_is_refused(texts: object, said: str):
    with pytest.raises(ModelError, match=said):
        asyncio.run(CachedEmbedder(HashEmbedder())(texts))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.lists(st.sampled_from(["", "a", "b", "c", "d" * 70_000]), max_size=4))),
    st.sampled_from([0.0, 0.001]),
)
@settings(max_examples=60, deadline=None)
def test_whoever_asks_when_gets_the_right_vectors(asked: list[tuple[int, list[str]]], seconds: float):
    inner = HashEmbedder(seconds=seconds)
    embedder = CachedEmbedder(inner)

    async def one(turns: int, texts: list[str]):
        for _ in range(turns):
            await asyncio.sleep(0)
        return await embedder(texts)

    async def main():
        return await asyncio.gather(*(one(*each) for each in asked))

    for (_, texts), vectors in zip(asked, asyncio.run(main()), strict=True):
        assert len(vectors) == len(texts)
        if texts:
            np.testing.assert_array_equal(vectors, alone(texts))
    called = [text for call in inner.requests for text in call]
    assert len(called) == len(set(called))


def test_the_memory_forgets_the_oldest_beyond_its_limit():
    cache = MemoryVectorCache(limit=2)

    async def main():
        for name in "abc":
            await cache.put("m", {name: np.ones(1, np.float32)})
        return await cache.get("m", ["a", "b", "c"])

    assert list(asyncio.run(main())) == ["b", "c"]


def test_the_fakes_count_their_calls():
    inner = AngleEmbedder()
    vectors = asyncio.run(CachedEmbedder(inner)(["deg=0", "deg=60"]))
    assert float(vectors[0] @ vectors[1]) == pytest.approx(0.5)
    assert inner.requests == [("deg=0", "deg=60")]
    assert CachedEmbedder(inner).fingerprint == inner.fingerprint
