"""The viewer: pages over the runs of a store, for a browser on this machine. It needs the extra `view`."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .guard import Door, Guarded
    from .paths import run_path
    from .serving import Bound, bound, serve
    from .site import pages

__all__ = ["Bound", "Door", "Guarded", "bound", "pages", "run_path", "serve"]

__getattr__ = deferred(
    __name__,
    {
        "Bound": "serving",
        "Door": "guard",
        "Guarded": "guard",
        "bound": "serving",
        "pages": "site",
        "run_path": "paths",
        "serve": "serving",
    },
)
