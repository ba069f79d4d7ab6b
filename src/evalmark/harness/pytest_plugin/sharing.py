"""What the workers of xdist share: every limit of the settings."""

from dataclasses import replace

from evalmark.core.settings import Settings


def share_of(settings: Settings, workers: int) -> Settings:
    """The settings for one of so many processes that work at the same time: its part of each limit, and at least one.

    >>> share_of(Settings(rpm=60, max_calls=9), 2).rpm, share_of(Settings(rpm=60, max_calls=9), 2).max_calls
    (30.0, 4)
    """
    if workers <= 1:
        return settings
    return replace(
        settings,
        jobs=max(1, settings.jobs // workers),
        connections=None if settings.connections is None else max(1, settings.connections // workers),
        rpm=None if settings.rpm is None else settings.rpm / workers,
        tpm=None if settings.tpm is None else settings.tpm / workers,
        max_cost=None if settings.max_cost is None else settings.max_cost / workers,
        max_calls=None if settings.max_calls is None else settings.max_calls // workers,
        max_tokens=None if settings.max_tokens is None else settings.max_tokens // workers,
    )
