"""What is looked for on a page that a browser has loaded: what axe-core finds, and what it does not look for."""

from collections.abc import Mapping

import pytest

axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")

NARROW, PHONE, TABLET, WIDE = 320, 390, 800, 1280
PAPER = 718
"""Pixels of CSS between the margins of a page of A4."""
ALL = {"resultTypes": ["violations"], "rules": {name: {"enabled": True} for name in ("target-size", "td-has-header")}}
"""All that axe-core finds by itself, and two rules that have to be asked for."""
COLOURS = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""What it finds in colours; all else is the same in the dark."""
PLACES = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]},
}
"""What it finds in where things stand; all else is the same in a narrow window, or looked for there in the dark."""
FOUND = """async asked => (await axe.run(document, asked)).violations.flatMap(
    one => one.nodes.map(node => `${one.impact}: ${one.id}: ${node.target}: ${node.failureSummary}`))"""
MADE = """() => {
    const said = one => (one.getAttribute('aria-label') || (one.getAttribute('aria-labelledby') || '').split(/\\s+/)
        .map(id => document.getElementById(id)?.textContent || '').join(' ')).trim();
    const seen = one => one.checkVisibility({visibilityProperty: true}) && !one.closest('.visually-hidden, .skip');
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
        const box = (one.type === 'checkbox' && one.closest('label') || one).getBoundingClientRect();
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
CUT = """width => [...document.querySelectorAll('main *')].filter(one => one.checkVisibility()
    && !one.closest('svg, .visually-hidden') && one.getBoundingClientRect().right > width + 1).map(one => one.outerHTML.slice(0, 90))"""
SHOWN = """[...document.querySelectorAll('header, button, input, select')].filter(one => one.checkVisibility())
    .map(one => one.outerHTML.slice(0, 90))"""
SMALL = """atLeast => [...document.querySelectorAll('a, button, input:not([type=hidden]), select, summary, textarea')]
    .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.closest('.visually-hidden, .skip')
        && !(one.localName === 'a' && getComputedStyle(one).display === 'inline'))
    .map(one => {
        const box = (['checkbox', 'radio'].includes(one.type) && one.labels[0] || one).getBoundingClientRect();
        const after = getComputedStyle(one, '::after');
        const more = side => after.position === 'absolute' ? parseFloat(after[side]) || 0 : 0;
        return [Math.max(box.width, more('width')), Math.max(box.height, more('height')), one];
    })
    .filter(([width, height]) => width > 1 && height > 1 && (height < 43.5 || width < atLeast - .5))
    .map(([width, height, one]) => `${width} wide, ${height} high: ${one.outerHTML.slice(0, 120)}`)"""
"""What a finger misses on a small screen, with the least width of controls; links within lines of text are exempt."""
FINGER = 44
"""Pixels."""
TOO_WIDE = "width => document.documentElement.scrollWidth > width ? ['wider than its window'] : []"
ALL_LAID_OUT = "*, *::details-content { content-visibility: visible !important }"
"""What is out of sight is not laid out where a style says so, and then seems to lie behind what follows it."""
DOWN = "scrollTo(0, document.body.scrollHeight)"
"""To the end, where a bar at the lower edge covers nothing."""
UNSTUCK = """for (const one of document.querySelectorAll('main *'))
    if (getComputedStyle(one).position === 'sticky') one.style.cssText += '; position: relative; inset: auto'"""
"""A bar at the upper edge stands where the page has it: further down, it covers what has been scrolled behind it."""
MOVING = "document.getAnimations().map(one => `moves: ${one.effect.target?.outerHTML.slice(0, 90)}`)"


def context_of(browser):
    """A context in which a script that is not of the viewer may look at its pages: here alone."""
    context = browser.new_context(bypass_csp=True)
    context.add_init_script(axe.AXE_SCRIPT)
    return context


def faults_of(page) -> Mapping[str, list[str]]:
    """What is wrong with the page that is loaded, by what was looked for."""
    found = {}
    page.add_style_tag(content=ALL_LAID_OUT)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    _set(page, WIDE, "light")
    found["axe, light, 1280"] = page.evaluate(FOUND, ALL)
    found["names and sizes"] = page.evaluate(MADE)
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    found["letters twice as large"] = page.evaluate(TOO_WIDE, WIDE)
    page.evaluate("document.documentElement.style.fontSize = ''")
    found["moving"] = page.evaluate(MOVING)
    page.emulate_media(reduced_motion="reduce")
    found["moving, though less was asked for"] = page.evaluate(MOVING)
    _set(page, NARROW, "dark")
    found["axe, dark, 320"] = page.evaluate(FOUND, COLOURS)
    _set(page, NARROW, "light")
    found["axe, light, 320"] = page.evaluate(FOUND, PLACES)
    found["under a finger"] = page.evaluate(SMALL, 0)  # of four pages in the header, three have short names
    found["320 wide"] = page.evaluate(TOO_WIDE, NARROW)
    _set(page, PHONE, "light")
    found["under a finger"] += page.evaluate(SMALL, FINGER)
    _set(page, TABLET, "dark")
    found["800 wide"] = [*page.evaluate(TOO_WIDE, TABLET), *page.evaluate(FOUND, PLACES)]
    _set(page, PAPER, "dark", "print")
    found["cut off on paper"] = page.evaluate(CUT, PAPER)
    found["controls on paper"] = page.evaluate(SHOWN)
    page.emulate_media(media="screen", reduced_motion="no-preference")
    return found


def _set(page, width: int, scheme: str, media: str = "screen") -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media=media, color_scheme=scheme)
    page.evaluate(UNSTUCK)
    page.evaluate(DOWN)
