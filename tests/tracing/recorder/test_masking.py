"""What masking costs and leaves alone: the app waits as long as one search of a text takes."""

import time

from evalmark.inputs.secrets.masks import mask_secrets


def test_a_text_that_nearly_holds_names_of_secrets_is_searched_soon():
    started = time.perf_counter()
    mask_secrets("a-" * 1_000_000 + "key=")
    assert time.perf_counter() - started < 2  # a few hundredths where the machine does nothing else


def test_an_address_with_a_word_behind_a_plain_name_stays():
    text = "https://a.example/page?code=python3"
    assert mask_secrets(text) == text
