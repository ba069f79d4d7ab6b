"""The five RAG metrics as plain functions, and all of them at once."""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import bind
from evalmark.core.sync import run_sync
from evalmark.scoring.builtin import grounding
from evalmark.scoring.builtin.cosine import Matrix, rows
from evalmark.scoring.builtin.grounding import RAG_METRICS
from evalmark.scoring.builtin.sentences import Splitter, split_sentences

from .vectors import Model, as_texts, check_texts, embed_texts

MODEL = "all-MiniLM-L6-v2"
LOG = logging.getLogger("evalmark.rag")

Vectors = Mapping[str, Any]
"""Precomputed embeddings by what they belong to: a vector, or a matrix with one row per text."""


def context_relevance(
    query: str, contexts: Sequence[str], model_name: Model = MODEL, *, precomputed_embeddings: Vectors | None = None
) -> float:
    """Return the mean similarity of a question and its contexts.

    Args:
        query: The question.
        contexts: The retrieved texts.
        model_name: The embedding model: its name, folder or function.
        precomputed_embeddings: Vectors to use instead, under `query` and `contexts`.

    Returns:
        A mean cosine from -1 to 1; 0.0 without contexts.

    Raises:
        ConfigError: An argument is not a text, or the model is unknown.

    >>> def lengths(texts): return [[len(text), 1.0] for text in texts]
    >>> round(context_relevance("Where?", ["Oslo."], lengths), 2)
    1.0
    """
    found = _query_similarities(query, as_texts(contexts), model_name, precomputed_embeddings)
    return _log_value("context_relevance", grounding.relevance(found) if found else 0.0)


def context_sufficiency(
    query: str,
    contexts: Sequence[str],
    model_name: Model = MODEL,
    threshold: float = 0.5,
    *,
    precomputed_embeddings: Vectors | None = None,
) -> float:
    """Return the share of contexts whose similarity to the question reaches the threshold.

    Args:
        query: The question.
        contexts: The retrieved texts.
        model_name: The embedding model: its name, folder or function.
        threshold: The smallest cosine that counts.
        precomputed_embeddings: Vectors to use instead, under `query` and `contexts`.

    Returns:
        A share from 0 to 1; 0.0 without contexts.

    Raises:
        ConfigError: An argument is not a text, or the model is unknown.

    >>> def lengths(texts): return [[len(text), 1.0] for text in texts]
    >>> context_sufficiency("Where?", ["Oslo."], lengths)
    1.0
    """
    found = _query_similarities(query, as_texts(contexts), model_name, precomputed_embeddings)
    return _log_value("context_sufficiency", grounding.sufficiency(found, threshold) if found else 0.0)


def answer_relevance(
    question: str,
    answer: str,
    reference: str,
    model_name: Model = MODEL,
    *,
    precomputed_embeddings: Vectors | None = None,
) -> float:
    """Return the similarity of answer and reference, the same number as `answer_correctness`.

    Args:
        question: The question; it does not affect the number.
        answer: The answer of the system under test.
        reference: The reference answer.
        model_name: The embedding model: its name, folder or function.
        precomputed_embeddings: Vectors to use instead, under `answer` and `reference`.

    Returns:
        A cosine from -1 to 1.

    Raises:
        ConfigError: An argument is not a text, or the model is unknown.

    >>> def lengths(texts): return [[len(text), 1.0] for text in texts]
    >>> round(answer_relevance("Where?", "In Oslo.", "Oslo.", lengths), 2)
    1.0
    """
    return _log_value("answer_relevance", _pair_similarity(answer, reference, model_name, precomputed_embeddings))


def answer_correctness(
    answer: str, reference: str, model_name: Model = MODEL, *, precomputed_embeddings: Vectors | None = None
) -> float:
    """Return the similarity of answer and reference.

    Args:
        answer: The answer of the system under test.
        reference: The reference answer.
        model_name: The embedding model: its name, folder or function.
        precomputed_embeddings: Vectors to use instead, under `answer` and `reference`.

    Returns:
        A cosine from -1 to 1.

    Raises:
        ConfigError: An argument is not a text, or the model is unknown.

    >>> def lengths(texts): return [[len(text), 1.0] for text in texts]
    >>> round(answer_correctness("In Oslo.", "Oslo.", lengths), 2)
    1.0
    """
    return _log_value("answer_correctness", _pair_similarity(answer, reference, model_name, precomputed_embeddings))


def answer_hallucination(
    answer: str,
    contexts: Sequence[str],
    model_name: Model = MODEL,
    threshold: float = 0.4,
    *,
    splitter: Splitter = "sentencex",
    precomputed_embeddings: Vectors | None = None,
) -> float:
    """Return the share of the answer's sentences that no context supports; lower is better.

    Args:
        answer: The answer of the system under test.
        contexts: The retrieved texts.
        model_name: The embedding model: its name, folder or function.
        threshold: The smallest cosine at which a context supports a sentence.
        splitter: How to split the answer into sentences: `sentencex`, `sentencex:LANGUAGE`, `simple` or a function.
        precomputed_embeddings: Vectors to use instead, under `contexts` and `sentences` in the splitter's order.

    Returns:
        A share from 0 to 1; 0.0 for an answer without a sentence, 1.0 for an answer without contexts.

    Raises:
        ConfigError: An argument is not a text, the model or splitter is unknown, or a matrix has the wrong shape.

    >>> def lengths(texts): return [[len(text), 1.0] for text in texts]
    >>> answer_hallucination("In Oslo.", [], lengths)
    1.0
    """
    check_texts({"answer": answer})
    passages = as_texts(contexts)
    sentences = split_sentences(answer, splitter)
    if not (answer and passages and sentences):
        return _log_value("answer_hallucination", _hallucination_without_vectors(answer, passages))
    if precomputed_embeddings:
        vectors, context_vectors = (rows(precomputed_embeddings[key]) for key in ("sentences", "contexts"))
    else:
        find = run_sync(embed_texts([*passages, *sentences], model_name))
        vectors, context_vectors = find(sentences), find(passages)
    _check_rows({"sentences": (vectors, len(sentences)), "contexts": (context_vectors, len(passages))})
    found = grounding.supports(sentences, vectors, context_vectors, threshold)
    return _log_value("answer_hallucination", grounding.unsupported(found))


def evaluate_all(  # noqa: PLR0913  the signature that Auto-Analyst's users know, and two options
    question: str,
    answer: str,
    reference: str,
    contexts: Sequence[str],
    model_name: Model = MODEL,
    thresholds: tuple[float, float] = (0.5, 0.4),
    *,
    splitter: Splitter = "sentencex",
    extra: Sequence[Callable[..., Any]] = (),
) -> dict[str, float]:
    """Return all five metrics, each as its own function gives it, from one call of the embedding model.

    Args:
        question: The question.
        answer: The answer of the system under test.
        reference: The reference answer.
        contexts: The retrieved texts.
        model_name: The embedding model: its name, folder or function.
        thresholds: The thresholds of sufficiency and hallucination.
        splitter: How to split the answer into sentences: `sentencex`, `sentencex:LANGUAGE`, `simple` or a function.
        extra: Further metrics; each function gets those of `question`, `answer`, `reference`, `contexts` and
            `model_name` that it names as parameters, and adds its number under its own name.

    Returns:
        The numbers by metric name.

    Raises:
        ConfigError: The model or the splitter is unknown, or a function of `extra` cannot be called so.

    >>> def lengths(texts): return [[len(text), 1.0] for text in texts]
    >>> def words(answer): return len(answer.split())
    >>> found = evaluate_all("Where?", "In Oslo.", "Oslo.", ["Oslo is the capital."], lengths, extra=[words])
    >>> found["answer_hallucination"], found["words"]
    (0.0, 2.0)
    """
    check_texts({"question": question, "answer": answer, "reference": reference})
    passages = as_texts(contexts)
    sentences = split_sentences(answer, splitter)
    texts = {"question": question, "answer": answer, "reference": reference, "contexts": passages}
    more = _bind_extra(extra, {**texts, "model_name": model_name})
    find = run_sync(embed_texts([question, answer, reference, *passages, *sentences], model_name))
    sufficiency, hallucination = thresholds
    (question_vector, answer_vector, reference_vector), context_vectors = (
        find([question, answer, reference]),
        find(passages),
    )
    near = grounding.similarities(question_vector, context_vectors)
    same = grounding.similarity(answer_vector, reference_vector)
    if answer and passages and sentences:
        made_up = grounding.unsupported(grounding.supports(sentences, find(sentences), context_vectors, hallucination))
    else:
        made_up = _hallucination_without_vectors(answer, passages)
    relevant = (grounding.relevance(near), grounding.sufficiency(near, sufficiency)) if near else (0.0, 0.0)
    found = dict(zip(RAG_METRICS, (*relevant, same, same, made_up), strict=True))
    found |= {name: _number(name, call()) for name, call in more.items()}
    LOG.info("%s", " ".join(f"{name}={value:z.4f}" for name, value in found.items()))
    return found


def _query_similarities(query: str, contexts: list[str], model: Model, precomputed: Vectors | None) -> list[float]:
    check_texts({"query": query})
    if not contexts:
        return []
    if precomputed:
        one, many = rows(precomputed["query"]), rows(precomputed["contexts"])
    else:
        find = run_sync(embed_texts([query, *contexts], model))
        one, many = find([query])[0], find(contexts)
    _check_rows({"contexts": (many, len(contexts))})
    return grounding.similarities(one, many)


def _pair_similarity(answer: str, reference: str, model: Model, precomputed: Vectors | None) -> float:
    check_texts({"answer": answer, "reference": reference})
    if precomputed:
        return grounding.similarity(rows(precomputed["answer"]), rows(precomputed["reference"]))
    find = run_sync(embed_texts([answer, reference], model))
    return grounding.similarity(*find([answer, reference]))


def _hallucination_without_vectors(answer: str, contexts: Sequence[str]) -> float:
    """Return the hallucination if there is nothing to compare: an answer without contexts is unsupported."""
    return 1.0 if answer and not contexts else 0.0


def _check_rows(found: Mapping[str, tuple[Matrix, int]]) -> None:
    for name, (vectors, reference_vector) in found.items():
        if vectors.ndim != 2 or len(vectors) != reference_vector:
            raise ConfigError(
                f"precomputed_embeddings[{name!r}] has the shape {vectors.shape}; {reference_vector} rows are needed."
            )


def _bind_extra(extra: Sequence[Callable[..., Any]], offers: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return the extra metrics by name, ready to be called."""
    ready: dict[str, Callable[[], Any]] = {}
    for function in extra:
        name = getattr(function, "__name__", type(function).__name__)
        if name in RAG_METRICS or name in ready:
            raise ConfigError(f"extra: there is a metric {name!r} already; give the function another name.")
        _, arguments = bind(function, offers, what=f"extra metric {name!r}").arguments(offers)
        ready[name] = partial(function, **arguments)
    return ready


def _number(name: str, found: Any) -> float:
    if inspect.iscoroutine(found):
        found = run_sync(found)
    try:
        return float(found)
    except (TypeError, ValueError):
        raise ConfigError(f"extra metric {name!r} returned {found!r}, which is not a number.") from None


def _log_value(name: str, value: float) -> float:
    LOG.debug("%s=%.4f", name, value)
    return value
