"""The published verdicts on speech tags, audited against the list of tags in the prompt."""

import pytest

from evalmark.errors import ConfigError
from evalmark.interop.promptpex.importer import read_promptpex
from evalmark.prompts.specs.spec import read_spec
from evalmark.reports.terminal.audit import audit_screen
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.runs.calibration.audit import AuditRequest, audit, truth_of_rules
from evalmark.store import open_store


@pytest.fixture
def folder(shared):
    return shared / "data" / "promptpex" / "v7" / "speech-tag"


@pytest.fixture
def prompt(shared):
    return shared / "data" / "promptpex" / "samples" / "speech-tag" / "speech-tag.prompty"


def test_the_judge_agrees_with_the_rules_on_329_of_336_outputs_and_passes_7_that_are_no_tag(folder, prompt, tmp_path):
    run = read_promptpex(folder)
    wanted = AuditRequest(run=run, metrics=("compliance",), against="rules", prompt=prompt)
    with open_store(tmp_path / "evalmark.db") as ledger:
        (found,) = audit(wanted, ledger)
    assert (found.agreement.passed, found.agreement.n) == (329, 336)
    assert (found.confusion.bad_passed, found.confusion.good_failed) == (7, 0)
    assert found.kappa == pytest.approx(0.947, abs=5e-4)
    assert [rate.raw.n for rate in found.rates] == [84, 84, 84, 84]
    assert found.is_told


def audited(run, prompt, tmp_path, **wanted):
    with open_store(tmp_path / "evalmark.db") as ledger:
        return audit(AuditRequest(run=run, metrics=("compliance",), prompt=prompt, **wanted), ledger)


def test_the_prompt_that_is_named_wins_over_the_rules_beside_the_results(folder, prompt, tmp_path):
    own = tmp_path / "tag.prompty"
    own.write_text(prompt.read_text())
    (found,) = audited(read_promptpex(folder), own, tmp_path, against="rules")
    assert found.about.startswith(
        f"{folder / 'rules.txt'} (beside the results; there is no {tmp_path / 'tag/rules.txt'}): 1 of 7"
    )
    assert found.about.endswith("can be checked; an output that passes the checks may still break a rule")
    assert (found.confusion.bad_passed, found.confusion.n) == (7, 336)

    (tmp_path / "tag").mkdir()
    (tmp_path / "tag/rules.txt").write_text("The output must be at most 9 characters.\n")
    (found,) = audited(read_promptpex(folder), own, tmp_path, against="rules")
    said = (
        f"{tmp_path / 'tag/rules.txt'} (of the prompt; {folder / 'rules.txt'} is not read): 1 of 1 rule can be checked"
    )
    assert found.about == said
    assert found.confusion.bad_passed != 7
    assert f"checked {said}" in " ".join(
        audit_screen(read_promptpex(folder), [found], TerminalStyle(width=400)).split()
    )


def test_a_prompt_that_would_not_be_read_is_refused(folder, prompt, tmp_path):
    with pytest.raises(ConfigError, match="compared with labels; add --against rules"):
        audited(read_promptpex(folder), prompt, tmp_path)
    (tmp_path / "tag").mkdir()
    (tmp_path / "tag/rules.txt").write_text("The output must be at most 9 characters.\n")
    with pytest.raises(
        ConfigError, match=r"tag/rules.txt: this is a file of rules, not a prompt; name the prompt .*tag\.prompty"
    ):
        audited(read_promptpex(folder), tmp_path / "tag/rules.txt", tmp_path, against="rules")


def test_the_rules_are_those_beside_the_results(folder, prompt):
    run = read_promptpex(folder)
    beside = truth_of_rules(run, read_spec(prompt, folder))
    assert len(beside.verdicts) == 336
    assert sum(beside.verdicts.values()) == 243
