"""What a machine makes of rules in English: a check where the words are plain, and nothing where they are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.prompts.rules.labels import labels_in_prompt
from evalmark.prompts.rules.phrases import NUMBERS
from evalmark.prompts.rules.rule_parser import check_of, checks_of, parts_in
from evalmark.prompts.specs.spec import read_spec

PART = " …"
"""Marks a check that is only a part of what the rule asks."""
PLAIN = [
    ("The output must be at most 80 words.", "at most 80 words"),
    ("The output must not exceed 80 words.", "at most 80 words"),
    ("The output must not exceed 80 words in length.", "at most 80 words"),
    ("The response should contain no more than three sentences.", "at most 3 sentences"),
    ("Use no more than three sentences.", "at most 3 sentences"),
    ("Keep the output to at most 5 lines.", "at most 5 lines"),
    ("At most 80 words.", "at most 80 words"),
    ("The output must be fewer than 10 lines.", "at most 9 lines"),
    ("The answer must be under 1,000 characters.", "at most 999 characters"),
    ("The output must contain at least 3 sentences.", "at least 3 sentences"),
    ("The output must contain more than 3 sentences.", "at least 4 sentences"),
    ("The output must be 3 sentences or fewer.", "at most 3 sentences"),
    ("The output must be 3 sentences or more.", "at least 3 sentences"),
    ("The output must be between 50 and 80 words.", "50 to 80 words"),
    ("The output should be 50-80 words long.", "50 to 80 words"),
    ("The output must be exactly one sentence.", "exactly 1 sentence"),
    ("The response must be a single paragraph.", "exactly 1 paragraph"),
    ("The output must only contain one word.", "exactly 1 word"),
    ("The output must be 12 words.", "exactly 12 words"),
    ("The output must exceed 80 words.", "at least 81 words"),
    ("The output must be at most 3 sentences and exactly 50 words.", "at most 3 sentences, exactly 50 words"),
    (
        "The output must be a single paragraph that does not exceed 80 words in length.",
        "exactly 1 paragraph, at most 80 words",
    ),
    ("The output must be polite and must not exceed 50 words.", "at most 50 words …"),
    ("The output must be at most 50 words and include a link.", "at most 50 words …"),
    ('The output must be one sentence and contain the word "x".', "exactly 1 sentence, 'x'"),
    ("The output must be one sentence and must be polite.", "exactly 1 sentence …"),
    ("You must not exceed 80 words.", "at most 80 words"),
    ("Your answer should be a single word: yes or no.", "exactly one of yes, no"),
    ("The output format must be valid JSON.", "JSON"),
    ("The output must be one of the following labels only: spam, ham.", "exactly one of spam, ham"),
    ("The output must be one of these labels (case-sensitive): spam, ham.", "exactly one of spam, ham"),
    ("The output must be one of these labels, without quotes: spam, ham.", "exactly one of spam, ham"),
    ("The output must be one of the three labels: a, b, c.", "exactly one of a, b, c"),
    ("The output must be exactly one of these labels: spam, ham.", "exactly one of spam, ham"),
    ('The output must be one of the following: "yes", "no", or "maybe".', "exactly one of yes, no, maybe"),
    ("The output must be either 'Positive', 'Negative' or 'Neutral'.", "exactly one of Positive, Negative, Neutral"),
    ("The output must be 'Positive' or 'Negative'.", "exactly one of Positive, Negative"),
    ("Return only one of: a, b, c, d, e.", "exactly one of a, b, c, d and 1 more"),
    ("The output must be JSON.", "JSON"),
    ("The output must be in valid JSON format.", "JSON"),
    ("The response must be a valid JSON object.", "a JSON object"),
    ("The output must be a JSON array of names.", "a JSON array …"),
    ("Return a JSON object with the keys a and b.", "a JSON object …"),
    ("The output must be formatted as HTML.", "some HTML tag …"),
    ("There must be at least three <p> tags in the output.", "at least 3 <p>"),
    ("The output must contain exactly 2 <li> elements.", "exactly 2 <li>"),
    ("There must be no <p> tags in the output.", "no <p>"),
    ("The output must not contain any <script> tags.", "no <script>"),
    ("Inside each <p> tag, there must be at least one <strong> tag.", "at least 1 <strong> in each <p>"),
    ("Within each <p>, there should be multiple <em> tags.", "at least 2 <em> in each <p>"),
    ("Each sentence must be wrapped with a <p> tag.", "at least 1 <p> …"),
    ("Wrap each sentence in <p>.", "at least 1 <p> …"),
    ("All tags must be properly closed.", "all tags are closed"),
    ('The output must not contain the word "sorry".', "not 'sorry'"),
    ("Avoid using the words 'very' and 'really'.", "not 'very' or 'really'"),
    ('Never say "as an AI" or anything else of the kind.', "not 'as an AI' …"),
    ('The answer must include the phrase "kind regards".', "'kind regards'"),
    ('The output must start with "Dear".', "starts with 'Dear'"),
    ('The output must end with "Yours".', "ends with 'Yours'"),
    ("The output should follow the order: Name, Age, and City.", "in order: Name, Age, City"),
    ("The output must be in French.", "in French"),
    ("The output must be written in English.", "in English"),
    ("Always generate texts in English.", "in English"),
    ("Answer in German only.", "in German"),
    ("The answer must be in German and must greet the reader.", "in German …"),
]
NONE = [
    "",
    "The output should be polite.",
    "The output must be about 80 words.",
    "The output should ideally be at most 80 words.",
    "If the input is long, the output must be at most 80 words.",
    "The output must be at most 80 words unless the input is longer.",
    "The output may contain up to 5 words.",
    "Each sentence must be at most 20 words.",
    "The title must be at most 5 words.",
    "The output must have at most 5 words per sentence.",
    "The output must not be limited to 80 words.",
    "The output must not be at most 3 words.",
    "Each description does not exceed 80 words.",
    "The description should be no longer than 80 words and crafted in a single paragraph.",
    "The output must be at most 5 words that rhyme.",
    "Answer in German with a greeting.",
    "The output must be one of the three labels: a, b.",
    "The output must be one of the following labels: spam, ham, etc.",
    "The output must be one of the following labels: spam, ham, or similar.",
    "The output must be one of the following labels: spam, ham, ...",
    "The output must be one of the following labels: spam, ham, ....",
    "The output must be one of: [spam, ham, ...].",
    "The output must be one of the following labels: spam, ham, or both.",
    "The output must be one of the following labels: spam, ham, all.",
    "The output must be one of the following labels: spam, ham or blank.",
    "The output must be at most 50 words and 300 characters.",
    "The output must be at least 3 sentences and 50 words.",
    "The output must be between 2 and 3 sentences and 50 words.",
    "The output must be no more than 2 paragraphs and one sentence.",
    "The output must be at most 10 words and must be followed by a signature.",
    "The output must be in English and should be accompanied by a translation.",
    "The output must be one of the following labels, such as spam, ham.",
    "The output must be one of the following labels: spam, ham. If unsure, say none.",
    "The output must be one of the following labels: spam, ham; default ham.",
    "The output must be one of the following labels in uppercase: spam, ham.",
    "The output must be one of the following labels: spam, ham, whichever fits.",
    "The output must be one of the following labels: spam, ham as given.",
    "The output must be one of the following labels: spam, ham, comma-separated.",
    "The output must be one of the following labels: 1. spam, 2. ham.",
    "The output must be a single line chart.",
    "The output must be one word problem.",
    "The output must be one of the following labels: spam, ham and must include a reason.",
    'The output must be "yes" or "no" and include a reason.',
    "The output must be JSON and must include an explanation.",
    "The output must be a JSON object with a short note.",
    "The output must be a number and must have a unit.",
    "The output must be one sentence and must include a title.",
    "The output must be one paragraph and must be followed by a list.",
    'Answer "yes" or "no" and explain why.',
    "The output must be at least one sentence, and at most one paragraph.",
    "The output must contain a single paragraph that does not exceed 80 words.",
    "The output must be a single paragraph of at most 80 words that each begin with a vowel.",
    "The output must be a single paragraph with 3 sentences of 10 words.",
    "The output must be a story with 3 characters.",
    "The output must contain at least two characters.",
    "The response must not exceed 100 words and should not count the code.",
    "The output must be at most 50 words. This does not include the title.",
    'The output must be "yes" and "no".',
    "The output must not be wrapped in <p> tags.",
    "Each sentence must not be wrapped with a <p> tag.",
    "The explanation must be one sentence.",
    "The output must contain a score followed by one short sentence.",
    "The output must be 3 words followed by a colon.",
    "At least one word of the input must be left out.",
    "The output must not be one of these labels: spam, ham.",
    "The output must be one of the labels that fit.",
    "The output must be one of: spam, ham, or whatever else the input asks for in its own words.",
    "The output must be 'Positive' or something like it.",
    "The output must be a single tag from the provided list.",
    "The output must not be JSON.",
    "The output must mention JSON.",
    "Inside each paragraph, there must not be any <strong> tags.",
    "The output must contain the word.",
    'The output must contain "yes" or "no".',
    'Company names must not be listed following the label "Names:".',
    "The output must be in English or French.",
    "The output must be in the language of the input.",
    "The output must not be in English.",
    "x" * 2_001,
    "The output must " + "is to " * 300 + "be kind.",
]


@pytest.mark.parametrize(("rule", "says"), PLAIN, ids=[rule for rule, _ in PLAIN])
def test_a_plain_rule_becomes_a_check(rule, says):
    check = check_of(rule)
    assert check is not None
    assert (check.description, check.is_whole) == (says.removesuffix(PART), not says.endswith(PART))


@pytest.mark.parametrize("rule", NONE, ids=[rule[:60] or "nothing" for rule in NONE])
def test_what_is_not_plain_is_left_to_a_reader(rule):
    assert check_of(rule) is None


PUBLISHED = {
    ("elements", "openai-examples/elements"): {
        1: "'Company names:' …",
        2: "'People names:' …",
        3: "'Specific topics:' …",
        4: "'General themes:' …",
        7: "in order: Company names, People names, Specific topics, General themes",
    },
    ("extract-names", "prompt-guide/extract-names"): {1: "a JSON array …", 2: "a JSON array of texts …"},
    ("speech-tag", "speech-tag/speech-tag"): {1: "exactly one of CC, CD, DT, EX and 34 more"},
    ("text-to-p", "text-to-p/text-to-p"): {
        1: "some HTML tag …",
        3: "at least 1 <p> …",
        4: "at least 3 <p>",
        5: "at least 1 <strong> in each <p>",
        6: "at least 2 <em> in each <p> …",
        7: "all tags are closed …",
        10: "no <p>",
    },
}


@pytest.mark.parametrize("name", PUBLISHED, ids=[name for name, _ in PUBLISHED])
def test_what_becomes_of_the_published_rules(shared, name):
    folder, sample = name
    pex = shared / "data" / "promptpex"
    spec = read_spec(pex / "samples" / f"{sample}.prompty", pex / "v7" / folder)
    found = checks_of([rule.text for rule in spec.numbered], spec.body)
    told = {n: check.description + ("" if check.is_whole else PART) for n, check in found.items()}
    assert told == PUBLISHED[name]


def test_labels_stand_in_the_list_of_a_prompt(shared):
    prompt = (shared / "data" / "promptpex" / "samples" / "speech-tag" / "speech-tag.prompty").read_text()
    labels = labels_in_prompt(prompt)
    assert len(labels) == 38
    assert {"CC", "PRP$", "TO", "WRB", "Unknown", "CantAnswer"} <= set(labels)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Return one tag.",
        "A list of tags: see below.",
        "The list of A: B: C: d",
        "NN: Noun, VB: Verb, JJ: Adjective",
    ],
)
def test_a_prompt_without_a_plain_list_has_no_labels(prompt):
    assert labels_in_prompt(prompt) == ()
    assert check_of("The output must be a single tag from the provided list.", prompt) is None


FEW_CHARACTERS = 20


@given(
    number=st.integers(1, 999),
    unit=st.sampled_from(["word", "sentence", "line", "character", "paragraph"]),
    subject=st.sampled_from(["The output", "Each response", "The generated text", "Your answer"]),
    verb=st.sampled_from(["must be", "should contain", "must have", "has to be", "should always be"]),
    bound=st.sampled_from(
        ["at most", "no more than", "at least", "exactly", "fewer than", "more than", "a maximum of"]
    ),
)
def test_limits_are_read_in_any_of_these_words(number, unit, subject, verb, bound):
    check = check_of(f"{subject} {verb} {bound} {number} {unit}{'' if number == 1 else 's'}.")
    low, high = {
        "at least": (number, None),
        "exactly": (number, number),
        "fewer than": (None, number - 1),
        "more than": (number + 1, None),
    }.get(bound, (None, number))
    may_be_people = (
        unit == "character" and verb.endswith(("contain", "have")) and max(low or 0, high or 0) < FEW_CHARACTERS
    )
    if high == 0 or may_be_people:  # "fewer than 1 word"; "have at most 3 characters" may speak of a story
        assert check is None
        return
    assert (check.unit, check.low, check.high, check.is_whole) == (unit, low, high, True)


@given(st.text())
def test_any_rule_is_read_without_a_fault(rule):
    check = check_of(rule, rule)
    assert check is None or check("anything").reason


WORDS = st.sampled_from(
    [
        *NUMBERS,
        *[
            "must",
            "should",
            "shall",
            "is",
            "are",
            "has",
            "not",
            "always",
            "only",
            "also",
            "be",
            "contain",
            "include",
            "use",
            "with",
            "as",
            "in",
            "of",
            "to",
            "an",
            "the",
            "its",
            "and",
            "that",
        ],
        "the",
        "output",
        "words",
        "one of",
        ":",
        '"a"',
        "<p>",
        "not",
        "JSON",
        ",",
        "in",
        "tags",
    ]
)


@given(st.lists(WORDS, max_size=60), st.text(max_size=40))
def test_any_jumble_of_the_words_of_rules_is_read_at_once(words, output):
    check = check_of("The output must " + " ".join(words))
    assert check is None or isinstance(check(output).reason, str)


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        (
            ["The output must be a single paragraph.", "The language used in the paragraph must be English."],
            {1: "exactly 1 paragraph", 2: "in English"},
        ),
        (
            ["The output must be a single sentence.", "The sentence must not exceed 9 words."],
            {1: "exactly 1 sentence", 2: "at most 9 words"},
        ),
        (["The output must be polite.", "The paragraph must be in English."], {}),
        (
            ["The output must contain a single paragraph.", "The paragraph must be in English."],
            {1: "exactly 1 paragraph"},
        ),
        (["The output must not be a single paragraph.", "The paragraph must be in English."], {}),
        (["If short, the output must be one paragraph.", "The paragraph must be in English."], {}),
        (
            [
                "The output must classify the text into one and only one of the following specific categories: World, Sports.",
                "The output must only include the name of the category without any additional text.",
            ],
            {1: "exactly one of World, Sports …"},
        ),
        (["The output must classify the text into one of the following categories: World, Sports."], {}),
        (
            [
                "The output must classify the text into one of the following categories: World, Sports.",
                "The output must include the name of the category and a reason.",
            ],
            {},
        ),
    ],
)
def test_rules_that_speak_of_each_other_are_read_together(rules, says):
    found = checks_of(rules)
    assert {n: check.description + ("" if check.is_whole else PART) for n, check in found.items()} == says


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ('The output must begin with "The writer likes...".', None),
        ('The output must contain "<name>".', None),
        ('The output must be "yes," or "no."', "exactly one of yes, no"),
        ('Do not use the word "delve."', "not 'delve'"),
        ("The output must be one of the following tags: IN, TO, VB.", "exactly one of IN, TO, VB"),
    ],
)
def test_quoted_texts_are_taken_as_they_are_meant(rule, says):
    check = check_of(rule)
    assert (check.description if check else None) == says


JSON_RULE = "The output must be a JSON object with the keys 'reply' and 'labels'."


@pytest.mark.parametrize(
    ("rule", "parts", "says"),
    [
        ("The reply must not exceed 30 words.", parts_in([JSON_RULE]), None),
        ("The output must not exceed 30 words.", parts_in([JSON_RULE]), "at most 30 words"),
        ("The reply must not exceed 30 words.", parts_in(["The reply is short."]), "at most 30 words"),
        ("The summary must not exceed 30 words.", parts_in([], 'Answer with {"summary": "…"}.'), None),
        ("The answer must be in English.", parts_in([], schema={"properties": {"Answer": {}}}), None),
    ],
)
def test_a_rule_about_a_field_of_the_output_is_not_checked_on_the_whole(rule, parts, says):
    found = check_of(rule, parts=parts)
    assert (found.description if found else None) == says
