"""How two outputs differ: JSON by its keys, texts by their words, and unrelated texts not at all."""

import json

import pytest

from evalmark.reports.text.output_changes import output_change

ORDER = {"order": 7, "items": [{"name": "lamp", "price": 20}, {"name": "rug", "price": 80}], "paid": True}


def fields(before, now):
    return [(one.path, one.kind, one.before, one.now) for one in output_change(before, now).fields]


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        pytest.param("It is 4,806 m high.", "It is 3,000 m high.", "words", id="one word of five"),
        pytest.param("Oslo.", "I am not sure.", "apart", id="only a full stop in common"),
        pytest.param("a b c d", "a b x y", "words", id="exactly half"),
        pytest.param("a b c d", "a x y z", "apart", id="less than half"),
        pytest.param(
            "Oslo", "Oslo is the capital of Norway, and its largest city.", "apart", id="a word of a long text"
        ),
        pytest.param("Oslo", "Oslo", "same", id="equal texts"),
        pytest.param("", "", "same", id="two empty texts"),
        pytest.param(None, "Oslo", "apart", id="no output before"),
        pytest.param({"a": 1}, '{ "a": 1 }', "same", id="an object and a text with the same object"),
        pytest.param({"a": 1.0}, {"b": 2}, "apart", id="objects without a common key"),
        pytest.param({"a": 1}, [1], "apart", id="an object and a list"),
        pytest.param('{"a": 1}', "It is 1.", "apart", id="JSON and prose"),
        pytest.param("[" * 5_000, "{" * 5_000, "apart", id="text that only looks like JSON, and is hostile"),
        pytest.param("x " * 50_000, "x " * 50_000 + "y", "words", id="long texts"),
    ],
)
def test_the_kind_of_a_change(before, now, kind):
    assert output_change(before, now).kind == kind


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param({**ORDER, "paid": False}, [("paid", "changed", "true", "false")], id="a changed value"),
        pytest.param({"order": 7, "items": ORDER["items"]}, [("paid", "removed", "true", "")], id="a removed key"),
        pytest.param({**ORDER, "note": "gift"}, [("note", "added", "", "gift")], id="an added key"),
        pytest.param(
            {**ORDER, "items": [ORDER["items"][0], {"name": "rug", "price": 90}]},
            [("items[1].price", "changed", "80", "90")],
            id="a value in a list",
        ),
        pytest.param(
            {**ORDER, "items": [{"name": "rug", "price": 90}, ORDER["items"][1]]},
            [("items[0].name", "changed", "lamp", "rug"), ("items[0].price", "changed", "20", "90")],
            id="an item before one that stays",
        ),
        pytest.param(
            {**ORDER, "items": [{"name": "sofa", "price": 5}, *ORDER["items"]]},
            [("items[0]", "added", "", '{"name": "sofa", "price": 5}')],
            id="an item before the others, which stay the same",
        ),
        pytest.param(
            {**ORDER, "items": ORDER["items"][1:]},
            [("items[0]", "removed", '{"name": "lamp", "price": 20}', "")],
            id="the first item left out",
        ),
        pytest.param({**ORDER, "order": "7"}, [("order", "changed", "7", '"7"')], id="a number that became a text"),
    ],
)
def test_the_places_of_json_that_differ(now, expected):
    assert fields(ORDER, now) == expected
    assert fields(json.dumps(ORDER), json.dumps(now, indent=4)) == expected


def test_equal_places_are_counted_and_of_many_differences_the_first_are_kept():
    found = output_change(
        {str(n): n for n in range(500)} | {"same": 1}, {str(n): n + 1 for n in range(500)} | {"same": 1}
    )
    assert (len(found.fields), found.left_out, found.unchanged) == (200, 300, 1)


def test_deep_values_are_compared_whole_beyond_a_depth():
    deep, other = {"end": 1, "same": 0}, {"end": 2, "same": 0}
    for _ in range(60):
        deep, other = {"in": deep}, {"in": other}
    (found,) = output_change(deep | {"top": 1}, other | {"top": 1}).fields
    assert found.path.count("in") == 30
