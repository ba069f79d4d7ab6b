"""The suite of examples/library passes, and is worse after the change that its page asks for."""

import shutil

from tests.cli.conftest import evalmark, width  # noqa: F401
from tests.conftest import ROOT


def test_ten_cases_break_when_the_answers_become_one_sentence(world, evalmark):  # noqa: F811
    shutil.copytree(ROOT / "examples" / "library", world, dirs_exist_ok=True)
    assert evalmark("run", "suite.yaml").code == 0
    prompt = world / "prompt.txt"
    page = (world / "README.md").read_text(encoding="utf-8")
    before, after = "Be friendly and complete", "Answer in one\nsentence"
    assert f'"{before}" by "{after}"' in page
    text = prompt.read_text(encoding="utf-8")
    assert before in text
    prompt.write_text(text.replace(before, after.replace("\n", " ")), encoding="utf-8")
    assert evalmark("run", "suite.yaml").code == 1
    compared = evalmark("compare", "last", "last~1", "--pairs")
    assert compared.code == 1
    assert "pass rate fell from 94.4 % to 66.7 % (10 cases regressed)" in compared.out
