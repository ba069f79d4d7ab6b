"""`Forecast`: the model calls that a run would make."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelForecast:
    """The model calls of a run to one model."""

    model: str
    """As the user named it."""
    calls: int
    cached: int = 0
    """Of these, how many are cached; the others are sent."""
    input_tokens: int | None = None
    """Of the calls that are sent, estimated; None when unknown."""
    output_tokens: int | None = None
    cost: float | None = None
    """Estimated US dollars for the calls whose price is known; None when none is."""
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
    """Calls of its judge; None when unknown, 0 for metrics without a judge."""
    judge: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The trials and model calls of a run."""

    name: str
    target: str = ""
    trials: int | None = None
    """Over all datasets, repeats included; None when a dataset was not read to its end."""
    metrics: tuple[MetricForecast, ...] = ()
    models: tuple[ModelForecast, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for the reader."""
