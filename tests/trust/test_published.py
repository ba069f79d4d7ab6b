"""The published verdicts on speech tags, audited against the list of tags in the prompt."""

import pytest

from evalmark.formats import read_promptpex
from evalmark.specs import read_spec
from evalmark.store import open_store
from evalmark.trust import Auditing, audit, rules_truths


@pytest.fixture
def folder(shared):
    return shared / "data" / "promptpex" / "v7" / "speech-tag"


@pytest.fixture
def prompt(shared):
    return shared / "data" / "promptpex" / "samples" / "speech-tag" / "speech-tag.prompty"


def test_the_judge_agrees_with_the_rules_on_329_of_336_outputs_and_passes_7_that_are_no_tag(folder, prompt, tmp_path):
    run = read_promptpex(folder)
    wanted = Auditing(run=run, metrics=("compliance",), against="rules", prompt=prompt)
    with open_store(tmp_path / "evalmark.db") as ledger:
        (found,) = audit(wanted, ledger)
    assert (found.agreement.passed, found.agreement.n) == (329, 336)
    assert (found.confusion.bad_passed, found.confusion.good_failed) == (7, 0)
    assert found.kappa == pytest.approx(0.947, abs=5e-4)
    assert [rate.raw.n for rate in found.rates] == [84, 84, 84, 84]
    assert found.is_told


def test_the_rules_are_those_beside_the_results(folder, prompt):
    run = read_promptpex(folder)
    beside = rules_truths(run, read_spec(prompt, folder))
    assert len(beside.verdicts) == 336
    assert sum(beside.verdicts.values()) == 243
