"""The page that is one file as a person uses it: opened from disk in a real browser, without a server and without a network."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from evalmark import Output, compare
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_html import as_html
from tests.reports.text import agents, compared, judged, sides
from tests.reports.text.example import RUN
from tests.reports.viewer.chromium import WIDTHS, chromium, playwright
from tests.reports.viewer.conftest import a_run
from tests.reports.viewer.conftest import result as squared
from tests.reports.viewer.looking import ALL, ALL_LAID_OUT, COLOURS, FOUND, MADE, axe
from tests.reports.viewer.test_browser import TEXTS, attacked
from tests.storage.store.places import until

from .test_run_html import many

pytestmark = pytest.mark.slow

expect = playwright.expect
NAMED = "table.all tbody:not([hidden]) > tr > th bdi"
SHARED = "A long passage that many cases share. " * 20
SQUARES = replace(a_run(), status="complete", results=tuple(squared(number) for number in range(30)))
HOSTILE = replace(
    a_run("\u2028</script>\ud800", name=TEXTS[0], target=TEXTS[1], suite=TEXTS[2]),
    status="complete",
    notes=tuple(TEXTS),
    datasets=tuple(DatasetInfo(name=text, path=text) for text in TEXTS),
    metrics=tuple(Metric(name=text, unit=text, judge=text, threshold=0.9) for text in TEXTS),
    results=tuple(attacked(text, number) for number, text in enumerate(TEXTS)),
)
"""Every text of it is made of the payloads."""
EARLIER = replace(
    HOSTILE,
    id="earlier",
    results=tuple(
        replace(one, output=Output(value=f"{TEXTS[n - 1]} {one.output.value} before"))
        for n, one in enumerate(HOSTILE.results)
    ),
)
PAGES = {
    "squares": (SQUARES, ReportOptions()),
    "hostile": (HOSTILE, ReportOptions(comparison=compare(HOSTILE, EARLIER), baseline=EARLIER)),
    "compared": (compared.NOW, ReportOptions(comparison=compared.WORSE, baseline=compared.THEN)),
    "shared": (many(3, 50, contexts=(SHARED,)), ReportOptions()),
    "run": (RUN, ReportOptions()),
    "judged": (judged.RUN, ReportOptions()),
    "agent": (agents.RUN, ReportOptions()),
    "sides": (sides.RUN, ReportOptions()),
    "empty": (replace(RUN, results=(), metrics=()), ReportOptions()),
}
FORBIDDEN = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } })"
STRANGE = """() => [
    ...(window.hit ? ['a script ran'] : []),
    ...[...document.querySelectorAll('script:not(main + footer + script), link, iframe, object, embed, img, video, base, math, style:not(head > style)')]
        .map(found => `an element ${found.localName}`),
    ...[...document.querySelectorAll('*')].flatMap(found => [...found.attributes])
        .filter(one => one.name.startsWith('on') || one.name === 'style' || one.name === 'src'
            || ['href', 'action', 'formaction'].includes(one.name) && !one.value.startsWith('#')
                && !(one.ownerElement.matches('.rich a[rel]') && /^(https?:|mailto:)/.test(one.value)))
        .map(one => `an attribute ${one.name}`),
]"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pages")
    for name, (run, options) in PAGES.items():
        (made / f"{name}.html").write_text("".join(as_html(run, options=options)), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def browser(folder):
    with chromium() as opened:
        yield opened


@dataclass
class Opened:
    """A page from disk, and whatever it asked for or complained of."""

    page: object
    folder: object
    asked: list[str]
    said: list[str]

    def __call__(self, name: str, state: str = "") -> object:
        self.page.goto(f"{(self.folder / name).as_uri()}.html{state}")
        return self.page

    @property
    def names(self) -> list[str]:
        """Of the cases that are shown."""
        return self.page.locator(NAMED).all_text_contents()

    def will_show(self, *names: str) -> None:
        """These cases come to be shown: the page hears of a link, and of what was typed, a moment later."""
        expect(self.page.locator(NAMED)).to_have_text([*names])


@pytest.fixture
def opened(browser, folder) -> Iterator[Opened]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        made = Opened(context.new_page(), folder, [], [])
        made.page.on("request", lambda asked: made.asked.append(asked.url))
        made.page.on("console", lambda said: made.said.append(said.text))
        made.page.on("pageerror", lambda error: made.said.append(str(error)))
        yield made
        assert {url.partition("#")[0] for url in made.asked} <= {f.as_uri() for f in folder.iterdir()} | {""}
        assert made.said == []


def test_nothing_that_anybody_wrote_runs_or_asks_for_anything(opened):
    page = opened("hostile")
    assert page.evaluate(STRANGE) == []
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.fill(".label [name=comment] >> nth=0", TEXTS[0])
    page.click(".label button >> nth=0")
    page.fill("#said [name=by]", TEXTS[1])
    page.fill("[name=text]", "<script>")
    page.fill("[name=tag]", TEXTS[3].partition("\n")[0])
    for sort in page.locator(".sort").all():
        sort.click()
    page.reload()
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.mouse.move(300, 300)
    page.keyboard.press("Tab")
    page.wait_for_timeout(50)
    assert page.evaluate(STRANGE) == []
    assert page.url.startswith("file://")


def test_what_could_act_is_shown_as_a_sign(opened):
    page = opened("run")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert "␛[2J" in page.text_content("table.all")
    assert "⟨U+D800⟩" in page.text_content("table.all")


@pytest.mark.parametrize(
    ("state", "fits"),
    [
        pytest.param("#verdict=error", lambda n: n % 10 == 9, id="how it ended"),
        pytest.param("#text=it+is+49.", lambda n: n == 7, id="a text of an answer, whatever its case"),
        pytest.param("#text=What+is+12+times", lambda n: n == 12, id="a text of an input"),
        pytest.param("#tag=odd", lambda n: n % 2, id="a tag"),
        pytest.param("#metric=0&high=0.3", lambda n: n % 3 == 0 and n % 10 != 9, id="the score of a metric"),
        pytest.param("#low=0.7&high=0.8", lambda n: n % 10 != 9, id="the score of any metric"),
        pytest.param("#metric=0&low=0,6", lambda n: n > 19 and n % 3 and n % 10 != 9, id="a comma in a number"),
        pytest.param("#verdict=fail&tag=odd", lambda n: n % 3 == 0 and n % 2 and n % 10 != 9, id="all that is asked"),
        pytest.param("#label=some", lambda n: False, id="those that are labelled"),
        pytest.param("#label=none", lambda n: True, id="those that are not"),
        pytest.param("#nonsense=1&low=x", lambda n: True, id="what means nothing leaves nothing out"),
        pytest.param("#verdict=nothing", lambda n: False, id="what nobody is"),
    ],
)
def test_an_address_says_which_cases_are_shown(opened, state, fits):
    page = opened("squares", f"{state}&sort=position")
    wanted = [f"case-{n:03}" for n in range(30) if fits(n)]
    assert opened.names == wanted
    assert page.inner_text("#count") == ("30 cases" if len(wanted) == 30 else f"{len(wanted)} of 30 cases")


def test_results_of_several_targets_are_counted_as_trials(opened):
    page = opened("sides")
    expect(page.locator("#count")).to_have_text("84 trials")
    page.goto(f"{page.url}#verdict=fail")
    expect(page.locator("#count")).to_have_text("40 of 84 trials")


def test_what_is_typed_is_written_into_the_address_and_cleared_again(opened):
    page = opened("squares")
    page.select_option("[name=verdict]", "fail")
    page.fill("[name=text]", "case-02")
    page.wait_for_url("**#text=case-02&verdict=fail")
    opened.will_show("case-021", "case-024", "case-027")
    page.click(".sort >> nth=0")
    page.click(".sort >> nth=0")
    opened.will_show("case-027", "case-024", "case-021")
    page.reload()
    opened.will_show("case-027", "case-024", "case-021")
    assert page.input_value("[name=text]") == "case-02"
    assert page.get_attribute("th[data-by=case]", "aria-sort") == "descending"
    page.click("button[type=reset]")
    page.wait_for_url(lambda url: "text" not in url)
    expect(page.locator(NAMED)).to_have_count(30)
    page.click(".chips a >> nth=1")
    expect(page.locator("[name=verdict]")).to_have_value("fail")
    expect(page.locator(".chips a[aria-current]")).to_have_count(1)


@pytest.mark.parametrize(
    ("column", "clicks", "first"),
    [
        pytest.param("similarity", 1, "case-000", id="a score, the lowest first"),
        pytest.param("similarity", 2, "case-028", id="the highest first"),
        pytest.param("Time", 1, "case-028", id="what took longest first"),
        pytest.param("Verdict", 0, "case-009", id="errors first, before any click"),
        pytest.param("Verdict", 1, "case-001", id="and last after one"),
        pytest.param("Input", 2, "case-029", id="names backwards"),
        pytest.param("similarity", 3, "case-000", id="a third time is the order of the run"),
    ],
)
def test_rows_are_sorted_by_a_click_on_a_head(opened, column, clicks, first):
    page = opened("squares")
    for _ in range(clicks):
        page.get_by_role("link", name=column, exact=True).click()
    assert opened.names[0] == first
    if column == "similarity" and clicks < 3:
        assert set(opened.names[-3:]) == {"case-009", "case-019", "case-029"}, "what is not known comes last"


def test_beside_a_baseline_cases_are_filtered_by_what_became_of_them(opened):
    page = opened("compared", "#outcome=better")
    assert opened.names == ["q02"]
    page.select_option("[name=outcome]", "new")
    page.wait_for_url("**#outcome=new")
    opened.will_show("q40")
    page.goto(page.url.replace("new", "flipped"))
    expect(page.locator(NAMED)).to_have_count(11)
    page.click("tbody:has-text('country 4?') summary")
    expect(page.locator("tbody:not([hidden]) details[open] del")).to_have_text("Lima")
    expect(page.locator("tbody:not([hidden]) details[open] ins")).to_have_text("Paris, I think")


def test_all_of_it_is_done_by_keys(opened):
    page = opened("squares", "#sort=position")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.inner_text("tbody[aria-current] bdi") == "case-001"
    assert page.evaluate("document.activeElement.ariaLabel") == "Show whole case case-001"
    page.keyboard.press("o")
    assert page.is_visible("tbody[aria-current] dl")
    page.keyboard.press("u")
    assert page.get_attribute("tbody[aria-current] button[value=up]", "aria-pressed") == "true"
    page.keyboard.press("d")
    assert page.get_attribute("tbody[aria-current] button[value=up]", "aria-pressed") == "false"
    assert "labelled bad" in page.inner_text("tbody[aria-current] th")
    page.keyboard.press("c")
    page.wait_for_selector("[name=comment]:focus")
    page.keyboard.type("just so")
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    assert not page.is_visible("tbody[aria-current] dl")
    assert page.inner_text("#said b") == "1 label"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "text"
    page.keyboard.type("jkud/?")
    assert page.input_value("[name=text]") == "jkud/?"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.is_visible("dialog >> text=next and previous row")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")


def test_keys_are_turned_off_in_the_list_of_them_and_on_again(opened):
    page = opened("squares", "#sort=position")
    page.click("#shortcuts-hint")
    assert page.locator("dialog dt").all_inner_texts() == ["j k", "Enter o", "u d", "c", "/", "Esc", "?"]
    page.uncheck("dialog input")
    page.click("dialog button")
    page.keyboard.press("j")
    page.keyboard.press("?")
    assert page.locator("tbody[aria-current], dialog[open]").count() == 0
    page.reload()
    page.keyboard.press("j")
    assert page.locator("tbody[aria-current]").count() == 0
    page.click("#shortcuts-hint")
    page.check("dialog input")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.inner_text("tbody[aria-current] bdi") == "case-000"


def test_without_a_store_for_settings_keys_are_off_for_this_page(opened):
    opened.page.add_init_script(FORBIDDEN)
    page = opened("squares")
    page.click("#shortcuts-hint")
    page.uncheck("dialog input")
    assert page.inner_text("dialog [role=status]").startswith("This browser stores no settings")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.locator("tbody[aria-current]").count() == 0


def test_what_keys_do_is_said_to_those_who_listen(opened):
    page = opened("squares", "#text=case-007")
    said = page.locator("#announcement[role=status]")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert said.inner_text() == "This is the last row of the page."
    for key, told in (("u", "Good: case-007"), ("d", "Bad: case-007"), ("d", "Withdrawn: case-007")):
        page.keyboard.press(key)
        assert said.inner_text() == told


LINES = """[...new Set([...document.querySelectorAll(".all td:is(.pass, .fail):not(.num)")].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell.firstChild);
    return range.getClientRects().length;
}))]"""
IN_SIGHT = """() => {
    const of = (query) => document.querySelector(query).getBoundingClientRect();
    return [of("tbody[aria-current]").top >= 0, of("tbody[aria-current]").bottom <= of("#said").top];
}"""


def test_the_case_that_keys_are_about_is_never_behind_the_bar_of_labels(opened):
    page = opened("squares")
    page.set_viewport_size({"width": 1200, "height": 900})
    foot = page.evaluate("document.querySelector('.all tbody').getBoundingClientRect().bottom + scrollY")
    page.evaluate("to => scrollTo(0, to - innerHeight)", foot)  # the first case ends where the window does
    page.keyboard.press("j")
    page.keyboard.press("u")
    assert page.evaluate(IN_SIGHT) == [True, True]
    page.keyboard.press("o")
    page.wait_for_selector("tbody[aria-current] [name=comment]")
    until(lambda: page.evaluate(IN_SIGHT) == [True, True])  # it is scrolled to once it is laid out


def test_nothing_is_done_to_a_case_that_is_filtered_away(opened):
    page = opened("squares")
    page.keyboard.press("j")
    page.fill("[name=text]", "case-007")
    page.wait_for_url("**#text=case-007")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    assert not page.is_visible("#said")
    page.keyboard.press("j")
    page.keyboard.press("u")
    assert page.inner_text("tbody[aria-current] bdi") == "case-007"
    assert page.inner_text("#said b") == "1 label"


def test_a_link_leads_to_its_case_whatever_is_filtered(opened):
    assert not opened("squares").is_visible(".looking"), "the table begins with the worst cases"
    page = opened("squares", "#text=case-007&sort=position")
    page.click(".looking summary")
    page.click(".looking a >> nth=0")
    expect(page.locator(NAMED)).to_have_count(30)
    expect(page.locator("dl:target")).to_be_visible()
    assert page.input_value("[name=text]") == ""
    page = opened("squares", page.url.partition("html")[2])
    expect(page.locator("dl:target")).to_be_visible()


def test_labels_outlive_the_page_and_are_taken_back(opened):
    page = opened("squares")
    page.click("tbody:has-text('What is 3 times 3?') summary")
    page.click("tbody[aria-current] button[value=up]")
    page.fill("tbody[aria-current] [name=score]", "0,5")
    page.fill("tbody[aria-current] [name=score]", "7")
    assert page.get_attribute("tbody[aria-current] [name=score]", "aria-invalid") == "true"
    page.fill("#said [name=by]", "ann")
    page.reload()
    assert page.inner_text("#said b") == "1 label"
    assert page.input_value("#said [name=by]") == "ann"
    page.click("tbody:has-text('What is 3 times 3?') summary")
    assert page.input_value("tbody[aria-current] [name=score]") == "0.5"
    page.click("tbody[aria-current] button[value=up]")
    page.fill("tbody[aria-current] [name=score]", "")
    assert not page.is_visible("#said")


def test_without_a_store_for_them_labels_are_held_and_the_page_says_so(opened):
    opened.page.add_init_script(FORBIDDEN)
    page = opened("squares")
    page.keyboard.press("j")
    page.keyboard.press("u")
    assert "This browser does not store them" in page.inner_text("#said")
    with page.expect_download() as saved:
        page.click("text=Save labels")
    assert saved.value.suggested_filename == "labels-20261121-101500-3f9a.jsonl"


def test_a_text_that_stands_elsewhere_is_put_in_its_place(opened):
    page = opened("shared")
    page.click(".all summary >> nth=2")
    expect(page.locator("details[open] dd:has-text('A long passage')")).to_have_text(SHARED)
    expect(page.locator("details[open] dd > a")).to_have_count(0)


def test_without_a_script_it_can_be_read_and_links_lead_to_texts_and_cases(browser, folder):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((folder / "shared.html").as_uri())
        assert not page.is_visible("form.filters")
        page.click(".all summary >> nth=2")
        page.click("details[open] dd > a")
        assert page.is_visible("#t0")
        page.goto((folder / "squares.html").as_uri())
        page.click(".looking summary")
        page.click(".looking a >> nth=0")
        assert page.is_visible("dl:target")


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_its_window(opened, name):
    page = opened(name)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    # What unfolds is read without moving the table sideways.
    wide = "[...document.querySelectorAll('.all dl')].filter(one => one.getBoundingClientRect().width > innerWidth)"
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
        assert page.evaluate(f"{wide}.length") == 0, width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, folder, scheme):
    with browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": 1280, "height": 900}) as context:
        context.add_init_script(axe.AXE_SCRIPT)
        page = context.new_page()
        faults = {}
        for name in ("squares", "compared", "judged", "empty"):
            page.goto((folder / f"{name}.html").as_uri())
            page.add_style_tag(content=ALL_LAID_OUT)
            page.evaluate("[...document.querySelectorAll('.all details')].slice(0, 3).forEach(one => one.open = true)")
            page.keyboard.press("j")
            page.keyboard.press("u")
            page.evaluate("scrollTo(0, document.body.scrollHeight)")  # nothing lies behind the bar of labels there
            faults[name] = page.evaluate(FOUND, ALL if scheme == "light" else COLOURS) + page.evaluate(MADE)
        assert {name: found for name, found in faults.items() if found} == {}


def test_on_paper_stands_what_is_open_and_nothing_to_click(opened):
    page = opened("squares")
    page.click("tbody:has-text('What is 3 times 3?') summary")
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in ("form.filters", ".label", "#said", "#count"):
        assert not page.is_visible(hidden)
    assert page.locator(".all dl:visible").count() == 1
    assert page.locator(".all > tbody > tr > td > details > summary:visible").count() == 0
    assert page.is_visible("th[data-by=case] >> text=Input")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 36, 40)", "dark on white"
    assert page.evaluate("getComputedStyle(document.querySelector('.all tbody tr')).breakInside") == "avoid"


def test_a_sheet_of_paper_holds_all_columns(opened):
    page = opened("compared")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate(LINES) == [1]
