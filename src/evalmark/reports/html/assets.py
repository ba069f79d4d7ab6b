"""What a page needs to be one file: its style, its script, and a policy that lets nothing else in."""

import base64
import hashlib
from typing import Any

from markupsafe import Markup

from .style import look


def alone(style: str = "", script: str = "") -> dict[str, Any]:
    """What `alone.html` has to be given: the common look with more `style` behind it, a script of ours, and the policy.

    The policy names both by their hash, so that nothing else on the page can act, whatever gets into it.
    """
    style = look(acts=bool(script)) + style
    policy = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        *([f"script-src {_hash(script)}", "require-trusted-types-for 'script'"] if script else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return {"policy": Markup("; ".join(policy)), "style": Markup(style), "script": Markup(script)}  # noqa: S704  files of ours


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
