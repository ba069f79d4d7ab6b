"""The list of keys: it names every key that a page has, once, and so does the page on the viewer."""

import re
from collections import Counter
from pathlib import Path

from evalmark.reports.html.assets import SHORTCUTS
from tests.conftest import ROOT

NAMES = [name for key in SHORTCUTS for name in key.names]
REPORTS = ROOT / "src" / "evalmark" / "reports"


def templates() -> list[Path]:
    return [
        path for package in ("html", "files", "viewer") for path in (REPORTS / package / "templates").glob("*.html")
    ]


def test_no_key_does_two_things():
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []


def test_every_key_of_a_page_is_in_the_list():
    text = "\n".join(path.read_text(encoding="utf-8") for path in templates())
    either = re.findall(r"""data-key="(?:(\w)|{{ '(\w)' if [^"]* else '(\w)' }})\"""", text)
    named = {name for found in either for name in found if name}
    assert {"c", "j", "k", "n", "p", "s", "z"} <= named <= {*NAMES}


def test_what_the_script_acts_on_by_itself_is_in_the_list():
    script = (REPORTS / "html" / "shortcuts.js").read_text(encoding="utf-8")
    named = {{"Escape": "Esc"}.get(name, name) for name in re.findall(r'\bkey === "([^"]+)"', script)}
    assert {"j", "k", "n", "p", "h", "l", "Enter", "o", "/", "?", "Esc"} == named


def test_the_page_on_the_viewer_has_the_same_keys():
    text = (ROOT / "docs" / "reference" / "labelling.md").read_text(encoding="utf-8")
    listed = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)))
    assert Counter(listed) == Counter(set(NAMES) - {"s", "z"}), "those of a queue are told where the queue is"
