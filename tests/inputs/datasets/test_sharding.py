"""Cases dealt out to shards: every one to exactly one, in equal shares."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case
from evalmark.core.values.run import Shard
from evalmark.errors import ConfigError
from evalmark.inputs.datasets.sharding import ShardAssignment, parse_shard, shard_sizes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("0/4", "'0/4' is not a shard; shards are numbered from 1/4 to 4/4.", id="before the first"),
        pytest.param("5/4", "'5/4' is not a shard; shards are numbered from 1/4 to 4/4.", id="behind the last"),
        pytest.param("1/0", "'1/0' is not a shard; there can be 1 to 10,000 of them.", id="of none"),
        pytest.param("1/10001", "'1/10001' is not a shard; there can be 1 to 10,000 of them.", id="of too many"),
        pytest.param("a/b", "'a/b' is not a shard; write the second of four as 2/4.", id="letters"),
        pytest.param("2", "'2' is not a shard; write the second of four as 2/4.", id="one number"),
        pytest.param("-1/4", "'-1/4' is not a shard; write the second of four as 2/4.", id="a sign"),
        pytest.param("1/4/4", "'1/4/4' is not a shard; write the second of four as 2/4.", id="three numbers"),
        pytest.param("²/4", "'²/4' is not a shard; write the second of four as 2/4.", id="a digit that is no number"),
        pytest.param("", "'' is not a shard; write the second of four as 2/4.", id="nothing"),
        pytest.param(
            "1/" + "9" * 99, "is not a shard; write the second of four as 2/4.", id="a number of a hundred digits"
        ),
    ],
)
def test_what_is_no_shard_is_said(text, says):
    with pytest.raises(ConfigError) as fault:
        parse_shard(text)
    assert says in str(fault.value)


@given(st.text())
def test_any_text_is_a_shard_or_refused(text):
    try:
        shard = parse_shard(text)
    except ConfigError:
        return
    assert 1 <= shard.number <= shard.of


def rows_of(deal, datasets, wanted):
    """The rows that fall to a shard, as dataset and place."""
    return [
        (name, place)
        for name, rows in datasets.items()
        if deal.has(name)
        for place in range(rows)
        if (name, place) in wanted and deal.takes_next()
    ]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(1, 7), st.integers(0, 4), st.booleans())
def test_every_row_falls_to_exactly_one_shard_and_the_shares_are_equal(sizes, of, skipped, whole):
    datasets = {f"d{number}": rows for number, rows in enumerate(sizes)}
    wanted = {(name, place) for name, rows in datasets.items() for place in range(rows) if (place + skipped) % 5}
    shards = [Shard(number=number, of=of) for number in range(1, of + 1)]
    dealt = [rows_of(ShardAssignment(shard, [*datasets] if whole else None), datasets, wanted) for shard in shards]
    assert sorted(row for rows in dealt for row in rows) == sorted(wanted)
    if not whole:
        assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(1, 7), st.booleans())
def test_how_many_rows_will_fall_to_a_shard_is_known_before(sizes, of, whole):
    datasets = {f"d{number}": rows for number, rows in enumerate(sizes)}
    every = {(name, place) for name, rows in datasets.items() for place in range(rows)}
    for number in range(1, of + 1):
        shard = Shard(number=number, of=of)
        dealt = rows_of(ShardAssignment(shard, [*datasets] if whole else None), datasets, every)
        assert shard_sizes(sizes, shard, whole=whole) == [sum(name == own for own, _ in dealt) for name in datasets]


def test_behind_a_dataset_of_unknown_length_no_share_is_known():
    assert shard_sizes([4, None, 4], Shard(number=1, of=2), whole=False) == [2, None, None]
    assert shard_sizes([4, None, 4], Shard(number=1, of=2), whole=True) == [4, 0, 4]
    assert shard_sizes([4, None, 4], Shard(number=2, of=2), whole=True) == [0, None, 0]


def test_the_fingerprint_of_a_dataset_is_that_of_all_its_rows_in_their_order():
    rows = [Case(id="a", input="1"), Case(id="b", input="2"), Case(id="b", input="3")]
    found = []
    for order in ([0, 1], [1, 0], [0, 2], [0], [0, 1]):
        deal = ShardAssignment(Shard(number=1, of=2))
        for place in order:
            deal.note("d", rows[place])
        found.append(deal.seen["d"])
    assert found[0] == found[-1]
    assert all(one != other for one, other in pairwise(found))
    assert len({*found}) == 4
