"""What stands between a run and its chat models: the journal, replay, retries, limits and money, a wrapper each.

Each name loads its file at first use, so that a run without chat models pays for none of it.
"""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .conditions import Conditions, through
    from .journaled import Journaled
    from .limited import Limited
    from .meter import Budget, Meter
    from .metered import Metered
    from .pace import Pace
    from .patience import Patience
    from .priced import Priced
    from .prices import Prices, Rates, read_prices
    from .replayed import Replayed, ReplayMode
    from .retrying import Retrying
    from .throttle import Throttle

__all__ = [
    "Budget",
    "Conditions",
    "Journaled",
    "Limited",
    "Meter",
    "Metered",
    "Pace",
    "Patience",
    "Priced",
    "Prices",
    "Rates",
    "ReplayMode",
    "Replayed",
    "Retrying",
    "Throttle",
    "read_prices",
    "through",
]

__getattr__ = deferred(
    __name__,
    {
        "Budget": "meter",
        "Conditions": "conditions",
        "Journaled": "journaled",
        "Limited": "limited",
        "Meter": "meter",
        "Metered": "metered",
        "Pace": "pace",
        "Patience": "patience",
        "Priced": "priced",
        "Prices": "prices",
        "Rates": "prices",
        "ReplayMode": "replayed",
        "Replayed": "replayed",
        "Retrying": "retrying",
        "Throttle": "throttle",
        "read_prices": "prices",
        "through": "conditions",
    },
)
