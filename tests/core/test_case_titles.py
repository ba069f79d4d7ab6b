"""How cases are named for readers."""

import pytest

from evalmark.core.case_titles import LONGEST_TITLE, CaseTitles, case_title

MADE = "53383426a9b2"
LONG = "Please write down in a few words why the sky is blue on most days of the year"


@pytest.mark.parametrize(
    ("key", "given", "title"),
    [
        pytest.param("paris", "Where is Paris?", "paris", id="the id that the row has"),
        pytest.param(MADE, "Where is Paris?", "Where is Paris?", id="a short input whole"),
        pytest.param(MADE, LONG, "Please write down in a few words why the sky is blue on…", id="whole words"),
        pytest.param(MADE, "x" * 80, "x" * (LONGEST_TITLE - 1) + "…", id="one long word, cut"),
        pytest.param(MADE, "Hello\n\x1b[31mred\x1b[0m  world", "Hello red world", id="one line, without commands"),
        pytest.param(MADE, {"question": "Who?", "year": 1990}, "Who? · 1990", id="the texts of several fields"),
        pytest.param(
            MADE,
            [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
            "Hi",
            id="what the user said last",
        ),
        pytest.param(MADE, ["red", "green"], "red · green", id="the items of a list"),
        pytest.param(MADE, None, "case 4", id="the number of a row without input"),
        pytest.param("\u200b", "Who?", "Who?", id="an id that nobody can see is none"),
    ],
)
def test_a_case_is_named(key, given, title):
    assert case_title(key, given, 3) == title


def test_titles_of_a_list_differ_and_a_case_keeps_its_own():
    titles = CaseTitles()
    keys = [MADE, f"{MADE}-2", "53380000ffff", "9b2253383426", MADE]
    found = [titles(key, LONG) for key in keys]
    start = case_title(MADE, LONG)
    assert found == [start, f"{start} (5338-2)", f"{start} (5338)", f"{start} (9b22)", start]


def test_two_keys_with_the_same_start_get_more_of_it():
    titles = CaseTitles()
    keys = [MADE, "aaaa11110000", "aaaa22220000"]
    assert [titles(key, "Who?") for key in keys] == ["Who?", "Who? (aaaa)", "Who? (aaaa2222)"]


def test_memory_is_bounded_and_later_titles_still_differ():
    titles = CaseTitles()
    found = [titles(f"{number:012x}", "Who?") for number in range(12_000)]
    assert len(set(found)) == len(found)
