"""The query box: what is typed becomes conditions of the store, or one sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.viewer.urls.search_query import parse_search_query
from evalmark.reports.viewer.urls.search_terms import quoted, score_range
from evalmark.storage.queries.filter import ResultFilter

METRICS = ("similarity", "is it polite", "correct")
VALUES = st.text(min_size=1, max_size=30).map(str.strip).filter(bool)
TERMS = st.one_of(
    st.tuples(st.just(""), VALUES).map(lambda one: quoted(one[1])),
    VALUES.map(lambda one: f"tag:{quoted(one)}"),
    st.sampled_from(
        [
            "a OR -label:bad",
            "seconds<=5",
            "verdict:fail",
            "verdict:pass,error",
            "label:bad",
            "metric.similarity<0.7",
            r"-/re+fund (a|b)\/\"/",
            'metadata."a key".b:c',
            "metadata.turns>3",
            'metric."is it polite">=1',
        ]
    ),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", [], id="nothing typed selects everything"),
        pytest.param("refund policy", ["has “refund”", "has “policy”"], id="each word has to occur"),
        pytest.param('"refund policy"', ["has “refund policy”"], id="a phrase in quotes is one text"),
        pytest.param("/refund|mon(ey)?/", ["has a match of /refund|mon(ey)?/"], id="a pattern"),
        pytest.param('-/a "b/ c', ['without a match of /a "b/', "has “c”"], id="a pattern with a blank and a quote"),
        pytest.param(r"/a\/b/i OR tag:x", [r"has a match of /a\/b/i or tagged x"], id="a pattern with a slash"),
        pytest.param(
            "/usr/bin /a.json // http://x/y/",
            ["has “/usr/bin”", "has “/a.json”", "has “//”", "has “http://x/y/”"],
            id="paths are words",
        ),
        pytest.param('"/x/"', ["has “/x/”"], id="a pattern in quotes is a text"),
        pytest.param("verdict:fail", ["failed"], id="a verdict"),
        pytest.param("VERDICT:Failed,error", ["failed or ended in an error"], id="several verdicts, in any case"),
        pytest.param("metric.similarity<0.7", ["similarity below 0.7"], id="a score below a number"),
        pytest.param(
            'metric."is it polite">=0.5', ["is it polite at least 0.5"], id="a metric with blanks in its name"
        ),
        pytest.param("metric.correct=1", ["correct equal to 1"], id="a score that equals a number"),
        pytest.param("seconds>2.5", ["slower than 2.5 s"], id="outputs that took long"),
        pytest.param("-seconds<=1", ["not 1 s or faster"], id="outputs that were not fast"),
        pytest.param('tag:"two words"', ["tagged two words"], id="a tag with a blank"),
        pytest.param("target:openai/gpt-5", ["target openai/gpt-5"], id="a target"),
        pytest.param("-tag:old -draft", ["not tagged old", "without “draft”"], id="a minus excludes"),
        pytest.param("label:bad -label:good", ["labelled bad", "not labelled good"], id="labels of people"),
        pytest.param("-flipped:any", ["not worse or better since the previous run"], id="a change"),
        pytest.param("seconds>5 tokens<=1e3", ["slower than 5 s", "tokens at most 1000"], id="time and tokens"),
        pytest.param("metric.any<0.5", ["any score below 0.5"], id="a score of any metric"),
        pytest.param(
            'metadata.region:eu -metadata.user."full name":"A B"',
            ["region is eu", "not user.full name is A B"],
            id="metadata of a case, also nested and with blanks",
        ),
        pytest.param(
            "metadata.turns>3 metadata.turns=4", ["turns above 3", "turns is 4"], id="a number of the metadata"
        ),
        pytest.param("cost:>0.01", ["cost above $0.01"], id="a cost"),
        pytest.param("verdict:fail OR label:bad a", ["failed or labelled bad", "has “a”"], id="OR comes before and"),
        pytest.param("-a OR b OR tag:c", ["without “a” or has “b” or tagged c"], id="three of which one has to hold"),
        pytest.param("https://example.org/a 10:30 a-b -", None, id="addresses, times and dashes are texts"),
        pytest.param(r'"say \"no\""', ['has “say "no"”'], id="a quote in quotes"),
    ],
)
def test_a_query_in_plain_words(text, words):
    found = parse_search_query(text, METRICS)
    assert found.problem == ""
    assert words is None or [term.words for term in found.terms] == words


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("verdict:flai", "There is no verdict flai; did you mean verdict:fail?", id="a verdict misspelt"),
        pytest.param(
            "verdict:zzz",
            "There is no verdict zzz; use pass, fail, error, unscored, ungated.",
            id="an unknown verdict: each is listed by one word",
        ),
        pytest.param("verdict:", "verdict: needs a value right after the colon, such as verdict:fail.", id="no value"),
        pytest.param(
            "state:fail",
            "There is no filter state:; use verdict:, tag:, target:, label:, flipped:, metadata.FIELD:, metric.NAME",
            id="another field",
        ),
        pytest.param("verdit:fail", "There is no filter verdit:; did you mean verdict:?", id="a field misspelt"),
        pytest.param(
            "metadata.region", "metadata.region needs a value, such as metadata.region:eu", id="a field alone"
        ),
        pytest.param("metadata.:eu", "metadata. needs the name of a field", id="metadata without a field"),
        pytest.param("metadata.turns>many", "metadata.turns> needs a number", id="a field and no number"),
        pytest.param("metric.any<x", "metric.any needs a sign", id="any score without a number"),
        pytest.param("flipped:wrose", "did you mean flipped:worse?", id="a change misspelt"),
        pytest.param("second>5", "write seconds>5", id="a measure misspelt"),
        pytest.param("latency>5", "write metric.NAME>5; to search for this text, put it in quotes.", id="no measure"),
        pytest.param(
            "seconds:", "seconds needs a sign (<, <=, >, >= or =) and a number, such as seconds>5.", id="no time"
        ),
        pytest.param("seconds>long", "seconds needs a sign", id="a time without a number"),
        pytest.param("cost>$1", "cost needs a sign", id="a cost with its currency"),
        pytest.param("metric.similarty<1", "did you mean metric.similarity?", id="a metric misspelt"),
        pytest.param("metric.x<1", "it has similarity, is it polite, correct.", id="a metric of another run"),
        pytest.param("metric.correct", "metric.correct needs a sign (<, <=, >, >= or =) and a number", id="no sign"),
        pytest.param("metric.correct<low", "metric.correct needs a sign", id="no number"),
        pytest.param("metric.correct<nan", "metric.correct needs a sign", id="not a number"),
        pytest.param("similarity<0.7", "tokens or the cost, write metric.similarity<0.7", id="the prefix forgotten"),
        pytest.param('refund "polic', 'The quote at “"polic” has no end; add a closing quote.', id="a quote left open"),
        pytest.param('""', "The quotes are empty", id="empty quotes"),
        pytest.param("OR b", "OR stands between two conditions", id="nothing before OR"),
        pytest.param("a OR", "OR stands between two conditions", id="nothing after OR"),
        pytest.param("a OR OR b", "OR stands between two conditions", id="OR twice"),
        pytest.param("a AND b", "Every condition has to hold anyway: leave AND out", id="AND"),
        pytest.param("a " * 21, "A query has at most 20 conditions", id="too many conditions"),
        pytest.param(
            "/((a{1000}){1000}){1000}/", "1,000,000,000 parts with its repeats", id="repeats of repeats of repeats"
        ),
        pytest.param(
            "/[ab]{20001}|c{,9}/", "20,011 parts with its repeats written out, and 20,000", id="a long repeat"
        ),
    ],
)
def test_a_query_that_cannot_be_read_says_why(text, sentence):
    found = parse_search_query(text, METRICS)
    assert sentence in found.problem
    assert found.terms == ()
    assert found.restrict(ResultFilter()).numbers == frozenset()


def test_a_run_without_metrics_says_so():
    assert "it has no metric at all." in parse_search_query("metric.a<1", ()).problem


@given(st.text(max_size=200))
def test_any_text_is_a_query_or_has_a_problem(text):
    found = parse_search_query(text, METRICS)
    assert not (found.terms and found.problem)
    assert bool(found.terms or found.problem) == bool(text.strip())


@given(VALUES)
def test_a_quoted_value_is_that_value(value):
    (term,) = parse_search_query(quoted(value), METRICS).terms
    assert term.condition == ResultFilter(text=value)
    (term,) = parse_search_query(f"tag:{quoted(value)}", METRICS).terms
    assert term.condition == ResultFilter(tag=value)
    (term,) = parse_search_query(f"target:{quoted(value)}", METRICS).terms
    assert term.condition == ResultFilter(target=value)


@given(st.lists(TERMS, min_size=1, max_size=8), st.data())
def test_a_query_without_a_term_has_all_the_others(parts, data):
    found = parse_search_query(" ".join(parts), METRICS)
    assert len(found.terms) == len(parts)
    at = data.draw(st.integers(0, len(parts) - 1))
    rest = parse_search_query(found.without(at), METRICS)
    assert rest.terms == (*found.terms[:at], *found.terms[at + 1 :])


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_below_and_at_least_part_all_scores(number, score):
    def selects(sign):
        low, high = score_range(sign, number)
        return (low is None or score >= low) and (high is None or score <= high)

    assert selects("<") != selects(">=")
    assert selects(">") != selects("<=")
    assert selects("=") == (selects("<=") and selects(">="))


@pytest.mark.parametrize(
    ("text", "verdicts", "rest"),
    [
        pytest.param("verdict:fail refund", ("fail",), "refund", id="one condition on verdicts"),
        pytest.param("-verdict:fail", (), "-verdict:fail", id="excluded verdicts"),
        pytest.param("verdict:fail verdict:error", (), "verdict:fail verdict:error", id="several conditions"),
        pytest.param("verdict:fail OR tag:a", (), "verdict:fail OR tag:a", id="alternatives"),
    ],
)
def test_a_condition_on_verdicts_can_be_shown_beside_the_box_and_replaced(text, verdicts, rest):
    query = parse_search_query(text, METRICS)
    assert (query.verdicts, query.without_verdicts) == (verdicts, rest)
