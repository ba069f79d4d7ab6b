"""The files in a prompt's folder: edited by hand, written by models, missing or empty."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import ConfigError
from evalmark.prompts.specs.prompt_tests import file_of_tests
from evalmark.prompts.specs.spec import PromptRule, folder_of, read_spec
from evalmark.prompts.specs.statement_files import lines_of

PROMPT = "---\nname: Tagger\n---\nsystem:\nReturn one tag.\nuser:\n{{ text }}\n"


@pytest.fixture
def prompt(tmp_path):
    """A prompt without a folder."""
    file = tmp_path / "tagger.prompty"
    file.write_text(PROMPT)
    return file


def folder(prompt, **files):
    """The folder of a prompt with these files."""
    home = folder_of(prompt)
    home.mkdir()
    for name, text in files.items():
        (home / f"{name}.txt").write_text(text, encoding="utf-8")
    return home


def test_a_line_of_nothing_but_marks_is_read_in_time():
    before = time.process_time()
    assert lines_of("- " * 500_000 + "a") == ("a",)
    assert time.process_time() - before < 10


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("Be short.\nBe kind.", ["Be short.", "Be kind."], id="one a line"),
        pytest.param(
            "Be short.  \r\n\r\n\tBe kind.\r\n", ["Be short.", "Be kind."], id="blank lines and ends of lines"
        ),
        pytest.param("1. Be short.\n2) Be kind.\n(3) Be clear.", ["Be short.", "Be kind.", "Be clear."], id="numbers"),
        pytest.param("- a b\n* c d\n• e f\n_ g h\n1. - i", ["a b", "c d", "e f", "g h", "i"], id="bullets"),
        pytest.param("Rule 1: Be short.\n**Rule 2:** Be kind.", ["Be short.", "Be kind."], id="numbered in words"),
        pytest.param("Rules:\nBe short.", ["Be short."], id="a heading"),
        pytest.param("## Output Rules\nBe short.\n**Inverse rules:**", ["Be short."], id="headings of Markdown"),
        pytest.param("```text\nBe short.\n```", ["Be short."], id="a fence of code"),
        pytest.param('["Be short."]\n["Be kind.", "Be clear."]', ["Be short.", "Be kind.", "Be clear."], id="lists"),
        pytest.param('["a\\n- b"]', ["a", "b"], id="a list whose text has two lines"),
        pytest.param('["NA"] is what it says.', ['["NA"] is what it says.'], id="a list at the start is text"),
        pytest.param('["a", 1]', ['["a", 1]'], id="a list of other things is text"),
        pytest.param('["a', ['["a'], id="a broken list is text"),
        pytest.param(
            "3.5 is the most.\n-5 is the least.", ["3.5 is the most.", "-5 is the least."], id="numbers in it"
        ),
        pytest.param("**Must** be short.\n_Must_ be kind.", ["**Must** be short.", "_Must_ be kind."], id="emphasis"),
        pytest.param("Rules: be short.", ["Rules: be short."], id="a rule that begins like a heading"),
        pytest.param("\ufeffBe short.", ["Be short."], id="a byte order mark"),
        pytest.param("", [], id="nothing"),
        pytest.param(" \n\n1. \n- \n", [], id="marks without a text"),
    ],
)
def test_lines_are_tidied(text, wanted):
    assert list(lines_of(text)) == wanted


@given(st.text(alphabet=st.sampled_from('ab1 .)-*_[]",\\n\n\r`#:Rules(')) | st.text())
def test_tidied_lines_stay_as_they_are(text):
    once = lines_of(text)
    assert lines_of("\n".join(once)) == once
    assert all(line and line == line.strip() and len(line.splitlines()) == 1 for line in once)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a/classify.prompty", "a/classify"),
        ("classify.prompt.yml", "classify"),
        ("classify.prompt.yaml", "classify"),
        ("classify.md", "classify"),
        ("v1.2.prompty", "v1.2"),
        ("plain", "plain"),
    ],
)
def test_the_folder_has_the_name_of_the_prompt(name, wanted):
    assert folder_of(name) == Path(wanted)


def test_files_that_are_missing_or_empty_say_nothing(prompt):
    assert read_spec(prompt).numbered == ()
    folder(prompt, rules="", intent="\n")
    spec = read_spec(prompt)
    assert (spec.intent, spec.input_spec, spec.rules, spec.inverse_rules, spec.notes) == ("", (), (), (), ())


def test_what_the_files_say(prompt):
    home = folder(
        prompt,
        intent="Tag a word\nin a sentence.",
        input_spec="1. A sentence.\n2. A word.",
        rules="- One tag.\n- No more.",
        inverse_rules="- Two tags.\n- More.",
    )
    spec = read_spec(prompt)
    assert (spec.intent, spec.input_spec, spec.folder) == (
        "Tag a word in a sentence.",
        ("A sentence.", "A word."),
        home,
    )
    assert spec.numbered == (
        PromptRule(1, "One tag."),
        PromptRule(2, "No more."),
        PromptRule(3, "Two tags.", True),
        PromptRule(4, "More.", True),
    )
    assert (spec.rule(3), spec.rule(0), spec.rule(5), spec.rule(-1)) == (
        PromptRule(3, "Two tags.", True),
        None,
        None,
        None,
    )
    assert (spec.body, spec.notes) == ("Return one tag.\n\n{{ text }}", ())


def test_seven_rules_with_six_inverses_are_a_note_and_never_a_shift(prompt):
    home = folder(prompt, rules="\n".join(f"Rule {n}: r{n}" for n in range(1, 8)), inverse_rules="a\nb\n\nc\nd\ne\nf\n")
    spec = read_spec(prompt)
    (note,) = spec.notes
    assert note.startswith(
        f"{home}/inverse_rules.txt:7: 6 inverse rules for 7 rules; their numbers are 8 to 13, and they "
    )
    assert (spec.rule(7), spec.rule(8), spec.rule(13), spec.rule(14)) == (
        PromptRule(7, "r7"),
        PromptRule(8, "a", True),
        PromptRule(13, "f", True),
        None,
    )


@pytest.mark.parametrize("said", ["I'm sorry, but I can't assist with that.", "Sorry, I cannot.", "I can\u2019t help."])
def test_a_file_that_holds_a_refusal_is_refused(prompt, said):
    home = folder(prompt, rules=f"\n{said}\n")
    with pytest.raises(ConfigError, match="a refusal; write the file, or generate it again") as refused:
        read_spec(prompt)
    assert str(refused.value).startswith(f"{home}/rules.txt:2: holds ")


CHECKED = """\
1. Answer with one label.
   check: {labels: [spam, ham]}
2. Be kind.
3. Be brief.
   - check: none
{"rule": "Be clear.", "check": {"words": {"max": 5}}}
{"rule": "Be calm."}
"""


def test_a_rule_may_say_how_it_is_checked(prompt):
    folder(prompt, rules=CHECKED)
    spec = read_spec(prompt)
    assert spec.rules == ("Answer with one label.", "Be kind.", "Be brief.", "Be clear.", "Be calm.")
    assert [(one.rule, one.data) for one in spec.checks] == [
        (1, {"labels": ["spam", "ham"]}),
        (3, "none"),
        (4, {"words": {"max": 5}}),
    ]
    assert lines_of(CHECKED) == spec.rules


@pytest.mark.parametrize(
    ("rules", "place", "said"),
    [
        ("check: {words: 3}\nBe kind.", 1, "this check has no rule above it"),
        ("Be kind.\n\ncheck: {wrods: 3}", 3, "the check of rule 1: there is no check 'wrods'; did you mean words?"),
        ("Be kind.\ncheck: words 3", 2, "the check of rule 1: a check is none, or names"),
        ("Be kind.\ncheck:", 2, "the check of rule 1: a check is none, or names"),
        ("Be kind.\ncheck: {words: [}", 2, ": the check is not valid YAML"),
        ("Be kind.\ncheck: {words: 3}\ncheck: {lines: 1}", 3, "the rule above already has a check"),
        ("Be kind.\ncheck: {json: schema}", 2, "needs a prompt file that has a schema"),
        ('A\n{"rule": "B", "check": {"words": "x"}}', 2, "the check of rule 2: words: is 'x'"),
        ('{"rule": "B", "checks": {"words": 1}}', 1, "a rule takes `rule` and `check`, not 'checks'"),
    ],
)
def test_what_is_no_check_is_named_by_its_line(prompt, rules, place, said):
    home = folder(prompt, rules=rules)
    with pytest.raises(ConfigError) as refused:
        read_spec(prompt)
    assert str(refused.value).startswith(f"{home}/rules.txt:{place}")
    assert said in str(refused.value)


def test_only_rules_have_checks(prompt):
    home = folder(prompt, rules="Be kind.", inverse_rules="Be rude.\ncheck: {words: 3}")
    with pytest.raises(ConfigError) as refused:
        read_spec(prompt)
    assert str(refused.value) == f"{home}/inverse_rules.txt:2: has a check; only the rules in rules.txt have checks."


def test_a_rule_about_refusals_is_a_rule(prompt):
    folder(prompt, rules='I\'m sorry is what it must never say.\nIt must not say "Sorry, I cannot".\nIt is short.')
    assert len(read_spec(prompt).rules) == 3


def test_a_file_that_cannot_be_read_is_named(prompt):
    (folder(prompt) / "rules.txt").mkdir()
    with pytest.raises(ConfigError, match=r"rules\.txt: is a folder"):
        read_spec(prompt)
    (folder_of(prompt) / "rules.txt").rmdir()
    (folder_of(prompt) / "rules.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigError, match=r"rules\.txt"):
        read_spec(prompt)


def test_the_fingerprint_follows_the_words_and_not_the_folder(prompt, tmp_path):
    folder(prompt, rules="One tag.")
    spec = read_spec(prompt)
    other = tmp_path / "other"
    other.mkdir()
    (other / "rules.txt").write_text("1. One tag.\n")
    assert read_spec(prompt, other).fingerprint == spec.fingerprint
    (other / "rules.txt").write_text("Two tags.")
    assert read_spec(prompt, other).fingerprint != spec.fingerprint


@pytest.mark.parametrize(
    ("name", "sample", "rules", "inverse"),
    [
        ("elements", "openai-examples/elements", 8, 8),
        ("extract-names", "prompt-guide/extract-names", 6, 6),
        ("speech-tag", "speech-tag/speech-tag", 7, 7),
        ("text-to-p", "text-to-p/text-to-p", 7, 6),
    ],
)
def test_the_published_folders_are_read(shared, name, sample, rules, inverse):
    pex = shared / "data" / "promptpex"
    spec = read_spec(pex / "samples" / f"{sample}.prompty", pex / "v7" / name)
    assert (len(spec.rules), len(spec.inverse_rules), len(spec.notes)) == (rules, inverse, int(rules != inverse))
    assert spec.intent
    assert spec.input_spec
    assert not any(line.startswith(("[", "-", "1")) for line in (*spec.rules, *spec.inverse_rules, *spec.input_spec))


def test_a_folder_that_cannot_be_looked_into_is_not_taken_for_an_empty_one(prompt, tmp_path):
    closed = tmp_path / ("a" * 300)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_spec(prompt, closed)
    with pytest.raises(ConfigError, match="cannot be read"):
        file_of_tests(replace(read_spec(prompt), folder=closed))
