"""Pages over a store that an older version wrote: a secret that this process knows is not shown."""

from evalmark.reports.viewer.urls.paths import run_path

from .conftest import a_run, from_browser, keep, result, shown

KEY = "k-4711/aB3+9f8e<7d6c"
PAGE = run_path("20261121-101500-3f9a")


def test_no_page_shows_a_known_secret(store, monkeypatch):
    fields = {"value": f"the key is {KEY}", "contexts": (KEY,), "metadata": {"x": KEY}}
    keep(store, a_run(notes=(f"asked with {KEY}",)), [result(1, **fields), result(2, error=f"E: {KEY}")])
    app = shown(store)
    monkeypatch.setenv("DEMO_API_KEY", KEY)
    for path in ("/", PAGE, f"{PAGE}/results/1", f"{PAGE}/results/2", f"{PAGE}/results/1/whole.json"):
        found = from_browser(app, path)
        assert found.status == 200
        assert "aB3" not in found.text, path
    assert "the key is (not kept)" in from_browser(app, f"{PAGE}/results/1").text
