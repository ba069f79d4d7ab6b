"""Terminal text of a dry run: the model calls a run would make."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.money import money
from evalmark.core.text import clean, count, one_line
from evalmark.reports.text.numbers import GAP
from evalmark.reports.text.titles import without_repeats
from evalmark.runs.dry_run.forecast import Forecast, MetricForecast, ModelForecast

from .console import DEFAULT, TerminalStyle, column_gap, data_table, render

_ESTIMATES = "Tokens and costs are estimates: output lengths are not known in advance."


def forecast_screen(forecast: Forecast, style: TerminalStyle = DEFAULT) -> str:
    """Show what a run would do."""
    trials = "trials unknown" if forecast.trials is None else count(forecast.trials, "trial")
    facts = [f"target {clean(forecast.target)}" if forecast.target else "", trials]
    parts: list[RenderableType] = [
        Text.assemble((one_line(forecast.name), "bold"), ("   plan only: no model was called", "dim")),
        Text(one_line(" · ".join(filter(None, facts))), style="dim"),
    ]
    if forecast.metrics:
        parts += [Text(""), _metrics(forecast.metrics, style)]
    parts += [Text(""), *_models(forecast.models, style)]
    parts += [Text(f"note: {clean(note)}", style="dim") for note in forecast.notes]
    return render(parts, style)


def _metrics(metrics: Sequence[MetricForecast], style: TerminalStyle) -> Table:
    judged = any(metric.judge for metric in metrics)
    table = _columns(["dataset", "metric"], ["trials", *(["judge calls"] if judged else [])], style)
    for dataset, metric in zip(without_repeats(one_line(m.dataset, 60) for m in metrics), metrics, strict=True):
        calls = GAP if not metric.judge else _known(metric.calls)
        table.add_row(dataset, one_line(metric.metric, 60), _known(metric.trials), *([calls] if judged else []))
    return table


def _models(models: Sequence[ModelForecast], style: TerminalStyle) -> Iterator[RenderableType]:
    if not models:
        yield Text("No model is called.")
        return
    table = _columns(["model"], ["calls", "cached", "to send", "tokens in", "tokens out", "cost"], style)
    for model in models if len(models) == 1 else (*models, _together(models)):
        table.add_row(
            one_line(model.model, 60),
            f"{model.calls:,}",
            f"{model.cached:,}",
            f"{model.sent:,}",
            estimate_text(model.input_tokens) if model.sent else "0",
            estimate_text(model.output_tokens) if model.sent else "0",
            _cost(model),
        )
    yield table
    unpriced = sum(model.unknown_cost for model in models)
    if unpriced:
        yield Text(f"The price of {count(unpriced, 'call')} is unknown and not in these costs.", style="yellow")
    if any(model.sent for model in models):
        yield Text(_ESTIMATES, style="dim")


def _together(models: Sequence[ModelForecast]) -> ModelForecast:
    """Sum over all models; unknown parts make a sum unknown, except the cost."""
    known = [model.cost for model in models if model.cost is not None]
    return ModelForecast(
        model="total",
        calls=sum(model.calls for model in models),
        cached=sum(model.cached for model in models),
        input_tokens=_sum([model.input_tokens for model in models if model.sent]),
        output_tokens=_sum([model.output_tokens for model in models if model.sent]),
        cost=sum(known) if known else None,
        unknown_cost=sum(model.unknown_cost for model in models),
    )


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _cost(model: ModelForecast) -> str:
    if not model.sent:
        return "$0"
    return "unknown" if model.cost is None else f"~{money(model.cost)}"


def estimate_text(number: int | None) -> str:
    """Format an estimate with two digits.

    >>> estimate_text(41_283), estimate_text(7), estimate_text(None)
    ('~41,000', '~7', 'unknown')
    """
    if number is None:
        return "unknown"
    return f"~{int(float(f'{number:z.2g}')):,}"


def _known(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _columns(texts: Sequence[str], numbers: Sequence[str], style: TerminalStyle) -> Table:
    table = data_table(column_gap(style))
    for heading in texts:
        table.add_column(heading, overflow="fold", min_width=8)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
