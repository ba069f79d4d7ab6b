"""The mode of an embedder is read back out of its fingerprint, and out of no other text."""

import pytest

from evalmark.core.embedding_modes import EMBEDDING_MODES, fingerprint_in_mode, model_and_mode


@pytest.mark.parametrize("mode", EMBEDDING_MODES)
def test_a_mode_is_read_back(mode):
    assert model_and_mode(fingerprint_in_mode("3fa9", mode)) == ("local:3fa9", mode)


@pytest.mark.parametrize(
    "fingerprint",
    [
        pytest.param("", id="no embedder"),
        pytest.param("local:int8", id="a model that is called as a mode is"),
        pytest.param("remote:openai/x:int8", id="a model behind a server"),
        pytest.param("local:3fa9:int4", id="a mode that is none"),
        pytest.param("mine:fast", id="an embedder of the user's"),
    ],
)
def test_what_is_no_local_model_in_a_mode_is_taken_as_it_is(fingerprint):
    assert model_and_mode(fingerprint) == (fingerprint, "exact")
