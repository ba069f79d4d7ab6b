"""The style of the pages: colours held to what WCAG 2.2 asks at level AA, worked out from the sheet itself; nothing moves."""

import re
from pathlib import Path

import pytest

from evalmark import reports
from evalmark.reports.html.assets import stylesheet

from .conftest import from_browser

TEXT, GRAPHICS = 4.5, 3.0
GROUNDS = ("back", "card", "tint")
ON_GROUNDS = ("text", "quiet", "accent", "pass", "fail", "error", "unscored")
PAIRS = [
    *((over, ground, TEXT) for over in ON_GROUNDS for ground in GROUNDS),
    ("text", "mark", TEXT),
    ("card", "accent", TEXT),  # the word on a button
    *(("strong-line", ground, GRAPHICS) for ground in GROUNDS),  # the edge of a field
    *((part, ground, GRAPHICS) for part in ("pass", "fail", "error", "unscored") for ground in GROUNDS),
    ("accent", "accent-soft", GRAPHICS),  # a mean on its interval
    ("text", "accent-soft", GRAPHICS),  # a threshold on it
    ("unscored", "mark", GRAPHICS),  # the line under what is marked
]


def tokens(scheme: str) -> dict[str, str]:
    """The colours of a scheme by their names; the dark ones stand in the first query for it."""
    light, dark = stylesheet().split("@media screen and (prefers-color-scheme: dark)", 1)
    text = light if scheme == "light" else dark[: dark.index("}\n}")]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text))


def luminance(colour: str) -> float:
    """How bright a colour is, from 0 to 1: the relative luminance of WCAG."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_is_seen_on_what_it_stands_on(scheme):
    known = tokens(scheme)
    low = {
        f"{over} on {ground}": round(found, 2)
        for over, ground, least in PAIRS
        if (found := contrast(known[over], known[ground])) < least
    }
    assert low == {}


def test_both_schemes_name_the_same_colours():
    light, dark = tokens("light"), tokens("dark")
    assert light.keys() == dark.keys()
    assert {name for name in light if light[name] == dark[name]} == set()


def test_whatever_moves_does_so_only_for_those_who_do_not_mind(app):
    style = sheet(app)
    calm = re.sub(r"@media \(prefers-reduced-motion: no-preference\) \{(?:[^{}]*\{[^{}]*\})*\s*\}", "", style)
    assert "animation" in style
    assert not re.search(r"\b(animation|transition|scroll-behavior)\b", calm)


def test_no_rule_has_a_colour_that_is_none_of_these(app):
    rules = re.sub(r":root \{.*?\}", "", sheet(app), flags=re.DOTALL)
    assert (
        re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[^{}]*[;}])|\b(?:rgb(?!\(0 0 0 /)|hsl|oklch|color)a?\([^)]*\)", rules) == []
    )


def sheet(app) -> str:
    """All style that pages load, without its comments."""
    return re.sub(r"/\*.*?\*/", "", from_browser(app, "/static/style.css").text, flags=re.DOTALL)


PAGES_OF_SHEETS = {
    "viewer/static/case.css": {"case", "session"},
    "viewer/static/compare.css": {"agreement", "compare", "compare_several", "previous_run"},
    "viewer/static/grid.css": {"grid", "run"},
    "viewer/static/label_queue.css": {"agreement", "label_choice", "label_forms", "label_queue"},
    "viewer/static/runs.css": {"runs", "trends"},
    "viewer/static/sessions.css": {"runs", "session", "sessions"},
    "html/comparison.css": {"compare", "compare_several"},
    "html/timeline.css": {"case", "session"},
}
"""The style sheets of single pages, and their templates; the viewer sends all sheets with each page."""


def classes_of(template: str) -> set[str]:
    """The classes in a template, also those that a condition adds."""
    attributes = re.findall(r'class="((?:[^"{]|\{\{.*?\}\}|\{%.*?%\})*)"', template)
    plain = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", " ".join(attributes)).split()
    return {*plain, *re.findall(r"' ([\w-]+)'", " ".join(attributes))}


def styled_classes(sheet: Path) -> set[str]:
    """The classes with which selectors of a sheet begin."""
    rules = re.findall(r"[^{}]+(?=\{)", re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.DOTALL))
    selectors = [one.strip() for rule in rules for one in re.split(r",(?![^(]*\))", rule)]
    return {found[1] for one in selectors if (found := re.match(r"\.([\w-]+)", one))}


@pytest.mark.parametrize("sheet", PAGES_OF_SHEETS)
def test_a_class_of_the_style_sheet_of_a_page_is_on_no_other_page(sheet):
    folder = Path(reports.__file__).parent
    shared = set().union(*(styled_classes(folder / "html" / f"{name}.css") for name in ("base", "labels", "reading")))
    own = styled_classes(folder / sheet) - shared
    pages = {page.stem: classes_of(page.read_text("utf-8")) for page in (folder / "viewer/templates").glob("*.html")}
    others = {page: own & found for page, found in pages.items() if page not in PAGES_OF_SHEETS[sheet]}
    assert {page: found for page, found in others.items() if found} == {}
