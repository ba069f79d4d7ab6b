"""Who may see the pages: a server of this machine, and a guard in front of whatever it shows."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .guard import FORM, HEADERS, Door, Guarded, Tickets, cookies
    from .serving import Bound, bound, serve

__all__ = ["FORM", "HEADERS", "Bound", "Door", "Guarded", "Tickets", "bound", "cookies", "serve"]

__getattr__ = deferred(
    __name__,
    {
        "Bound": "serving",
        "Door": "guard",
        "FORM": "guard",
        "Guarded": "guard",
        "HEADERS": "guard",
        "Tickets": "guard",
        "bound": "serving",
        "cookies": "guard",
        "serve": "serving",
    },
)
