"""Every page is for everyone: what axe-core finds, and what it does not look for."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest

from evalmark import Result
from evalmark.core.values.label import Label
from evalmark.core.values.session import Session, Span
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import Store, open_store
from evalmark.tracing.annotations.labels import result_subject
from tests.reports.viewer.auth.test_guard import RUN, TAKING_FORMS, routes

from .chromium import chromium, served
from .conftest import a_run, from_browser, keep, keep_calls, result, shown
from .looking import ALL, FOUND, MADE, context_of, faults_of

pytestmark = pytest.mark.slow

PAGE = run_path(RUN)
MATRIX, LIVE, EMPTY = "20261121-111500-aaaa", "20261121-121500-bbbb", "20261121-131500-cccc"
"""Runs with two targets, under way, and without a case."""
LATER = "20261122-101500-dddd"
"""The run of thirty cases again, with other answers."""
SPAN, TALK = "a" * 16, "b" * 16
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
    f"{run_path(MATRIX)}/results/48",
    run_path(LIVE),
    run_path(EMPTY),
    f"/compare?run={LATER}&baseline={RUN}",
    f"/compare?run={LATER}&baseline={RUN}&outcome=worse&metric=similarity",
    f"/compare?run={MATRIX}&baseline={MATRIX}&target=new&against=old",
    f"/compare?run={EMPTY}&baseline={RUN}",
    f"/compare?run={LATER}&baseline={RUN}&baseline={MATRIX}",
    f"/grid?run={MATRIX}",
    f"/grid?run={MATRIX}&differences=1&show=differ&density=compact",
    f"/grid?run={MATRIX}&run={RUN}&run={LATER}&run={LIVE}&density=full&first=1",
    f"/grid?run={EMPTY}",
    "/sessions?text=open&failed=1",
    "/sessions?project=shop&labelled=not",
    "/sessions?text=nowhere",
    f"/label/queue?what=run%3A{RUN}&n=6",
    f"/label/queue?what=run%3A{LATER}&n=6",
    "/label/queue?what=project%3Ashop",
    f"/sessions/{TALK}",
    f"/compare?run={MATRIX}&target=new&against=old&outcome=same",
    f"/compare?run={MATRIX}&baseline={RUN}&target=new&against=app:answer",
    f"{run_path(MATRIX)}?flipped=any",
    f"{PAGE}?label=disputed",
    f"{run_path(MATRIX)}/charts?against=similarity",
    f"{run_path(LIVE)}/charts",
    f"{run_path(EMPTY)}/charts",
    "/trends?suite=*",
    "/trends?of=similarity",
    f"{PAGE}?q=metric.similarity%3C0.5+tag:odd",
    f"{PAGE}?q=metric.unknown%3C0.5",
    f"/go?q=squares&at={PAGE}",
    f"/label?what=run:{RUN}&n=40",
    f"/label/queue?what=run%3A{LATER}&n=6&at=1",
    f"/label/queue?what=run%3A{EMPTY}",
)
"""What pages show beside what an address for each route gives."""


def changed(number: int) -> Result:
    """An answer that became worse where it passed, up to the sixth case, and is in other words after it."""
    before = result(number)
    if before.output.error is not None:
        return before
    value = 0.1 if number < 6 else 0.9
    score = replace(before.scores[0], raw=value, value=value, passed=value > 0.5)
    made = replace(before.output, value=f"Some say it is {number * number}. It sings, and it roars.")
    return replace(before, output=made, scores=(score, *before.scores[1:]))


def fill(store: Store) -> None:
    """Runs in every state, labels and a recorded session."""
    keep(store, a_run(RUN), [result(number) for number in range(30)])
    keep(store, a_run(LATER, created="2026-11-22T10:15:00+00:00"), [changed(number) for number in range(14)])
    keep(store, a_run(EMPTY, name="nothing"), [])
    keep(store, a_run(LIVE, name="live"), [result(number) for number in range(3)], ends=False)
    two = [result(number, target) for number in range(6) for target in ("old", "new")]
    keep(store, a_run(MATRIX, name="side by side", target="old, new"), two)
    keep_calls(store)
    said = result_subject(RUN, result(1))
    when = "2026-11-21T10:20:00.000000Z"
    labels = [
        Label(about=said.about, content=said.content, by="ann", created=when, liked=True, comment="So it is."),
        Label(about=said.about, content=said.content, by="bob", created=when, liked=False, score=0.25),
    ]
    for number in range(14):
        said = result_subject(LATER, changed(number))
        fields = {"about": said.about, "content": said.content, "created": when}
        labels += [Label(by="ann", liked=number % 2 == 0, **fields), Label(by="bob", liked=number % 3 == 0, **fields)]
    span = Span(id=SPAN, session=TALK, project="shop", started=when, seconds=0.2, input="Open?", output="Yes.")
    step = Span(id="c" * 16, session=TALK, project="shop", parent=span.id, started=when, kind="tool", name="hours")
    broken = replace(span, id="d" * 16, input="And on Sunday?", output=None, error="TimeoutError: it took too long")
    store.sessions.add([Session(id=TALK, project="shop", started=when)], [span, step, broken])
    store.sessions.add_labels(labels)


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
    known = {"/nothing": 404, **dict.fromkeys(TAKING_FORMS, 405)}
    assert {a: one.status for a, one in answers.items() if one.status != known.get(a, 200)} == {}
    return [address for address, one in answers.items() if one.headers["content-type"].startswith("text/html")]


@pytest.fixture(scope="module")
def origin(store, addresses) -> Iterator[tuple[str, str]]:
    with served(store, author="ann") as made:
        yield made.origin, made.address_of("/")


@pytest.fixture(scope="module")
def browser(origin):
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def faults(browser, origin, addresses) -> dict[str, dict[str, list[str]]]:
    """All that was found, by what was looked for and where."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    with context_of(browser) as context:
        page = context.new_page()
        page.goto(origin[1])
        for address in addresses:
            page.goto(f"{origin[0]}{address}")
            for what, said in faults_of(page).items():
                found[what] |= {address: said} if said else {}
    return found


@pytest.mark.parametrize(
    "what",
    [
        "axe, light, 1280",
        "axe, light, 320",
        "axe, dark, 320",
        "names and sizes",
        "letters twice as large",
        "under a finger",
        "320 wide",
        "800 wide",
        "moving, though less was asked for",
        "cut off on paper",
        "controls on paper",
    ],
)
def test_no_page_keeps_anybody_out(faults, what):
    assert faults[what] == {}


def test_a_run_under_way_breathes_and_nothing_else_moves(faults):
    assert {"/", run_path(LIVE)} <= faults["moving"].keys()
    assert [said for found in faults["moving"].values() for said in found if "badge live" not in said] == []


def test_the_list_of_keys_is_for_everyone_too(browser, origin):
    with context_of(browser) as context:
        page = context.new_page()
        page.goto(origin[1])
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.keyboard.press("?")
            assert page.is_visible("dialog[open] h2")
            assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
            assert [*page.evaluate(MADE), *page.evaluate(FOUND, ALL)] == []
            page.keyboard.press("Escape")
            assert page.locator("dialog[open]").count() == 0


def test_what_looks_for_faults_finds_them(browser, origin):
    with context_of(browser) as context:
        page = context.new_page()
        page.goto(origin[1])
        page.set_content(
            "<style>@keyframes far { to { left: 9px } } i { animation: far 9s } @media (prefers-color-scheme: dark) "
            "{ b { color: #222; background: #111 } } th { min-width: 400px } u { display: block; width: 90rem }</style>"
            "<main><h1>A</h1><h3>B</h3><table><tr><th>x</th><td class=fail></td></tr></table><input>"
            "<button style='width: 9px; height: 9px; padding: 0'>i</button><p style='color: #999'>pale</p>"
            "<i>moves</i><b>dark</b><u>wide</u></main>"
        )
        found = faults_of(page)
    said = "\n".join(found["names and sizes"])
    for part in ("without a name", "without a scope", "headings: 1,3", "colour alone", "9 by 9"):
        assert part in said, part
    light, dark = "\n".join(found["axe, light, 1280"]), "\n".join(found["axe, dark, 320"])
    assert "color-contrast: p" in light
    assert "critical: label: input" in light
    assert "color-contrast: b" not in light
    assert "color-contrast: b" in dark
    assert [what for what, faults in found.items() if not faults] == []


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
