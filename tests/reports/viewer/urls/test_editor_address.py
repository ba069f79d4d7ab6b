"""Addresses that open a file in an editor: only files of the folder of the viewer, whatever a store says."""

import pytest

from evalmark.core.errors import ConfigError
from evalmark.core.settings import load_settings
from evalmark.reports.viewer.urls.paths import editor_address

FORM = "vscode://file/{path}:{line}"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "my project"
    (made / "evals").mkdir(parents=True)
    (made / "evals" / "a#1.yaml").write_text("x")
    (tmp_path / "secret.txt").write_text("x")
    (made / "out.txt").symlink_to(tmp_path / "secret.txt")
    return made


@pytest.mark.parametrize(
    ("form", "place", "address"),
    [
        pytest.param(FORM, "evals/a#1.yaml", "vscode://file{folder}/evals/a%231.yaml:1", id="a file"),
        pytest.param(FORM, "evals/a#1.yaml:12", "vscode://file{folder}/evals/a%231.yaml:12", id="a line of a file"),
        pytest.param(
            "idea://open?file={path}", "evals/a#1.yaml:2", "idea://open?file={folder}/evals/a%231.yaml", id="no line"
        ),
        pytest.param("", "evals/a#1.yaml", "", id="no editor chosen"),
        pytest.param(FORM, "", "", id="no place"),
        pytest.param(FORM, "evals/b.yaml", "", id="a file that is not there"),
        pytest.param(FORM, "evals", "", id="a folder"),
        pytest.param(FORM, "../secret.txt", "", id="a file outside of the folder"),
        pytest.param(FORM, "/etc/passwd:1", "", id="an absolute file elsewhere"),
        pytest.param(FORM, "out.txt", "", id="a link to a file outside"),
        pytest.param(FORM, "a" * 9_000, "", id="a name that is too long"),
        pytest.param(FORM, "a\0b", "", id="a zero byte"),
    ],
)
def test_only_files_of_the_folder_have_an_address(folder, form, place, address):
    expected = address.replace("{folder}", folder.as_posix().replace(" ", "%20"))
    assert editor_address(form, place, folder) == expected


@pytest.mark.parametrize(
    "form", ["javascript:alert(1)//{path}", "DATA:text/html,{path}", "code {path}", "vscode://file", ":{path}"]
)
def test_a_form_that_is_no_address_of_an_editor_is_refused(form, tmp_path):
    with pytest.raises(ConfigError, match=r"EVALMARK_EDITOR.*is not an address with \{path\}"):
        load_settings({"EVALMARK_EDITOR": form}, tmp_path)
