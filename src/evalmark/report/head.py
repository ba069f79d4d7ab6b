"""How every page begins: its style, and a policy that lets nothing else in."""

import base64
import hashlib
from html import escape
from importlib.resources import files

from evalmark.wording import clean, one_line


def page_head(title: str, more: str = "") -> str:
    """The head of a page with no script and nothing remote; `more` names a file with further style."""
    styles = [files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("page.css", more) if name]
    style = "".join(styles)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(clean(one_line(title, 200)))}</title>\n<style>{style}</style>\n<main>\n"
    )
