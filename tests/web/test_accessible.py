"""Every page is for everyone: what axe-core finds, and what it does not look for."""

from collections.abc import Iterator

import pytest

from evalmark import labelling
from evalmark.addresses.paths import run_path
from evalmark.store import Store, open_store
from evalmark.values import Label, Session, Span

from .chromium import chromium, served
from .conftest import a_run, from_browser, keep, keep_calls, result, shown
from .test_guard import RUN, routes

axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")

PAGE = run_path(RUN)
MATRIX, LIVE, EMPTY = "20261121-111500-aaaa", "20261121-121500-bbbb", "20261121-131500-cccc"
"""Runs with two targets, under way, and without a case."""
BLIND = "20261121-141500-dddd"
"""A run that two people have labelled."""
STATES = (
    "/?text=squares&status=complete",
    "/?text=nowhere",
    "/nothing",
    f"{PAGE}?verdict=fail&tag=odd&sort=-score:similarity&size=25",
    f"{PAGE}?text=nowhere",
    f"{PAGE}?size=25&page=2",
    f"{PAGE}/results/2?verdict=fail&at=0",
    f"{PAGE}/results/10",
    run_path(MATRIX),
    f"{run_path(MATRIX)}/results/1",
    f"/compare?run={MATRIX}&target=new&against=old&went=same",
    f"/compare?run={MATRIX}&baseline={RUN}&target=new&against=app:answer",
    f"{run_path(MATRIX)}?flipped=any",
    run_path(LIVE),
    run_path(EMPTY),
    f"{run_path(MATRIX)}/pictures?against=similarity",
    f"{run_path(LIVE)}/pictures",
    f"{run_path(EMPTY)}/pictures",
    "/course?suite=*",
    "/course?of=similarity",
    "/sessions?project=shop&labelled=not",
    "/sessions?text=nowhere",
    f"{PAGE}?label=disputed",
    f"/label?what=run:{RUN}&n=40",
    f"/label/queue?what=run:{RUN}",
    "/label/queue?what=project:shop",
    f"/label/queue?what=run:{BLIND}",
    f"/label/queue?what=run:{BLIND}&at=1",
    f"/label/queue?what=run:{EMPTY}",
)
"""What pages show beside what an address for each route gives."""
LIGHT, DARK = "light", "dark"
ASKED = {"resultTypes": ["violations"], "rules": {name: {"enabled": True} for name in ("target-size", "td-has-header")}}
"""All that axe-core finds by itself, and two rules that have to be asked for."""
FOUND = """async asked => (await axe.run(document, asked)).violations.flatMap(
    one => one.nodes.map(node => `${one.impact}: ${one.id}: ${node.target}: ${node.failureSummary}`))"""


def fill(store: Store) -> None:
    """Runs in every state, labels and a recorded session."""
    keep(store, a_run(RUN), [result(number) for number in range(30)])
    keep(store, a_run(EMPTY, name="nothing"), [])
    keep(store, a_run(LIVE, name="live"), [result(number) for number in range(3)], ends=False)
    two = [result(number, target) for number in range(12) for target in ("old", "new")]
    keep(store, a_run(MATRIX, name="side by side", target="old, new"), two)
    keep_calls(store)
    said = labelling.of_result(RUN, result(1))
    when = "2026-11-21T10:20:00.000000Z"
    labels = [
        Label(about=said.about, content=said.content, by="ann", created=when, liked=True, comment="So it is."),
        Label(about=said.about, content=said.content, by="bob", created=when, liked=False, score=0.25),
    ]
    span = Span(id="a" * 16, session="b" * 16, project="shop", started=when, seconds=0.2, input="Open?", output="Yes.")
    step = Span(id="c" * 16, session="b" * 16, project="shop", parent=span.id, started=when, kind="tool", name="hours")
    store.traffic.keep([Session(id="b" * 16, project="shop", started=when)], [span, step])
    store.traffic.label(labels)
    keep(store, a_run(BLIND, name="labelled by two"), [result(number) for number in range(4)])
    words = [labelling.Word(by="ann", liked=True), labelling.Word(by="bob", liked=False, comment="It sings.")]
    labelling.note(store, [(labelling.of_result(BLIND, result(n)), word) for n in range(4) for word in words])


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("viewer") / "evalmark.db") as made:
        fill(made)
        yield made


@pytest.fixture(scope="module")
def addresses(store) -> list[str]:
    """Of every page there is, taken from the router, and of its states."""
    app = shown(store)
    every = list(dict.fromkeys([*routes(app), *STATES]))
    assert [address for address in every if "{" in address] == [], "an address for each parameter of a path is needed"
    answers = {address: from_browser(app, address) for address in every}
    assert {address for address, one in answers.items() if one.status not in (200, 404, 405)} == set()
    return [address for address, one in answers.items() if one.headers["content-type"].startswith("text/html")]


@pytest.fixture(scope="module")
def origin(store, addresses) -> Iterator[tuple[str, str]]:
    with served(store, author="ann") as made:
        yield made.origin, made.address_of("/")


@pytest.fixture(scope="module")
def browser(origin):
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_axe_finds_nothing_on_any_page(browser, origin, addresses, scheme, width):
    # Only here may a script that is not of the viewer look at its pages.
    with browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 900}) as context:
        context.add_init_script(axe.AXE_SCRIPT)
        page = context.new_page()
        page.goto(origin[1])
        faults = {}
        for address in addresses:
            page.goto(f"{origin[0]}{address}")
            faults[address] = page.evaluate(FOUND, ASKED)
        assert {address: found for address, found in faults.items() if found} == {}


MADE = """() => {
    const said = one => (one.getAttribute('aria-label') || (one.getAttribute('aria-labelledby') || '').split(/\\s+/)
        .map(id => document.getElementById(id)?.textContent || '').join(' ')).trim();
    const seen = one => one.checkVisibility({visibilityProperty: true}) && !one.closest('.unseen, .skip');
    const short = one => one.outerHTML.slice(0, 120);
    const all = where => [...document.querySelectorAll(where)];
    const faults = [];
    for (const table of all('table')) {
        if (!table.caption?.textContent.trim() && !said(table)) faults.push(`a table without a name: ${short(table)}`);
        if (!table.querySelector('thead th')) faults.push(`a table without heads: ${short(table)}`);
    }
    for (const head of all('th')) if (!['row', 'col', 'rowgroup', 'colgroup'].includes(head.getAttribute('scope')))
        faults.push(`a head without a scope: ${short(head)}`);
    const levels = all('h1, h2, h3, h4, h5, h6').map(one => Number(one.localName[1]));
    if (levels[0] !== 1 || levels.filter(one => one === 1).length !== 1) faults.push(`headings: ${levels}`);
    levels.forEach((level, n) => { if (n && level > levels[n - 1] + 1) faults.push(`headings: ${levels}`); });
    const places = all('main, nav, header, section, form, [role=region], [role=search], aside').filter(said)
        .map(one => `${one.getAttribute('role') || one.localName} ${said(one)}`);
    for (const place of places) if (places.indexOf(place) !== places.lastIndexOf(place)) faults.push(`twice: ${place}`);
    for (const one of all('a, button, input:not([type=hidden]), select, summary, textarea')) {
        const box = one.getBoundingClientRect();
        const line = one.localName === 'a' && getComputedStyle(one).display === 'inline';
        if (seen(one) && !line && (box.height < 24 || box.width < 24))
            faults.push(`${box.width} by ${box.height}: ${short(one)}`);
    }
    for (const one of all('.pass, .fail, .error, .unscored')) {
        const cell = one.closest('td');
        const head = cell && cell.closest('table').tHead?.rows[0].cells[cell.cellIndex]?.textContent || '';
        const words = `${one.textContent} ${one.getAttribute('aria-label') || ''} ${head}`;
        const drawn = one.closest('svg');
        if (drawn ? !drawn.closest('[aria-hidden=true]') && !drawn.querySelector('title') && !said(drawn)
            : !/\\p{L}|[✓✗!?±]/u.test(words)) faults.push(`by colour alone: ${short(one)}`);
    }
    return faults;
}"""


def test_pages_are_made_of_named_tables_headings_in_order_and_targets_that_a_finger_hits(browser, origin, addresses):
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(origin[1])
        faults = {}
        for address in addresses:
            page.goto(f"{origin[0]}{address}")
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            faults[address] = page.evaluate(MADE)
        assert {address: found for address, found in faults.items() if found} == {}


def test_what_looks_for_faults_finds_them(browser, origin):
    with browser.new_context(bypass_csp=True) as context:
        context.add_init_script(axe.AXE_SCRIPT)
        page = context.new_page()
        page.goto(origin[1])
        page.set_content(
            "<h1>A</h1><h3>B</h3><table><tr><th>x</th><td class=fail></td></tr></table><button style='width: 9px; height: 9px; padding: 0'>i</button>"
            "<p style='color: #999'>pale</p><input>"
        )
        said = "\n".join([*page.evaluate(MADE), *page.evaluate(FOUND, ASKED)])
        for part in (
            "without a name",
            "without a scope",
            "headings: 1,3",
            "colour alone",
            "9 by 9",
            "color-contrast",
            "label",
        ):
            assert part in said, part


def test_with_letters_twice_as_large_no_page_grows_out_of_its_window(browser, origin, addresses):
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(origin[1])
        wide = []
        for address in addresses:
            page.goto(f"{origin[0]}{address}")
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            wide += [address] * (page.evaluate("document.documentElement.scrollWidth") > 1280)
        assert wide == []


PAPER = 718
"""Pixels of CSS between the margins of a page of A4."""
CUT = """width => [...document.querySelectorAll('main *')].filter(one => one.checkVisibility()
    && !one.closest('svg, .unseen') && one.getBoundingClientRect().right > width + 1).map(one => one.outerHTML.slice(0, 90))"""


def test_on_paper_nothing_is_cut_off(browser, origin, addresses):
    with browser.new_context(viewport={"width": PAPER, "height": 1000}, color_scheme=DARK) as context:
        page = context.new_page()
        page.goto(origin[1])
        page.emulate_media(media="print")
        cut = {}
        for address in addresses:
            page.goto(f"{origin[0]}{address}")
            cut[address] = page.evaluate(CUT, PAPER)
            assert page.locator("header, button, input, select").filter(visible=True).count() == 0, address
        assert {address: found for address, found in cut.items() if found} == {}


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_nothing_moves_for_who_asked_for_less_motion(browser, origin, addresses, motion, moves):
    with browser.new_context(reduced_motion=motion) as context:
        page = context.new_page()
        page.goto(origin[1])
        moving = set()
        for address in addresses:
            page.goto(f"{origin[0]}{address}")
            moving |= {address} if page.evaluate("document.getAnimations().length") else set()
        assert bool(moving) is moves, moving


def test_with_the_colours_of_the_system_what_is_chosen_still_differs(browser, origin):
    with browser.new_context(forced_colors="active") as context:
        page = context.new_page()
        page.goto(origin[1])
        page.goto(f"{origin[0]}{PAGE}?verdict=fail")
        for one, other in ((".chips a[aria-current]", ".chips a:not([aria-current])"), (".dot", ".band")):
            looks = [
                page.eval_on_selector(where, "one => (look => [look.borderStyle, look.fill])(getComputedStyle(one))")
                for where in (one, other)
            ]
            assert looks[0] != looks[1], one
        page.goto(f"{origin[0]}{PAGE}/results/2")
        border = "one => getComputedStyle(one).borderStyle"
        pressed, other = (page.eval_on_selector(f"form [aria-pressed={kind}]", border) for kind in ("true", "false"))
        assert pressed != other
