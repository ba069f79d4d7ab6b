"""`Forecast`: what a run would ask of models."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelForecast:
    """The calls that one model would get."""

    model: str
    """As the user named it."""
    calls: int
    cached: int = 0
    """Of these, how many are cached; the others are sent."""
    input_tokens: int | None = None
    """Of the calls that are sent, estimated; None when unknown."""
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars for the calls whose price is known, about; None when none is."""
    unknown_cost: int = 0
    """Calls to be sent whose price is not known; `cost` leaves them out."""

    @property
    def sent(self) -> int:
        return self.calls - self.cached


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricForecast:
    """One metric on one dataset."""

    dataset: str
    metric: str
    trials: int | None
    """Outputs to be judged; None when the dataset was not read to its end."""
    calls: int | None = 0
    """Calls of its judge; None when unknown, 0 for metrics that ask no model."""
    judge: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a run would do and ask."""

    name: str
    target: str = ""
    trials: int | None = None
    """Over all datasets, repeats included; None when a dataset was not read to its end."""
    metrics: tuple[MetricForecast, ...] = ()
    models: tuple[ModelForecast, ...] = ()
    notes: tuple[str, ...] = ()
    """Things a reader should know, one sentence each."""
