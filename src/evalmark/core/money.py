"""Format the cost, calls and tokens of a run."""

from evalmark.core.text import count, one_line
from evalmark.core.values.run import Run
from evalmark.core.values.spending import Spending, known_cost, total_spending


def money(dollars: float) -> str:
    """Format US dollars with two decimals; below one dollar, with at least two significant digits.

    >>> money(1234.5), money(0.5), money(0.0042), money(0.0000123), money(0.0)
    ('$1,234.50', '$0.50', '$0.0042', '$0.000012', '$0')
    """
    if dollars == 0:
        return "$0"
    if abs(dollars) >= 0.995:
        return f"${dollars:z,.2f}"
    mantissa, exponent = f"{dollars:.1e}".split("e")
    decimals = -int(exponent) + (not mantissa.endswith(".0"))
    return f"${dollars:z.{max(2, decimals)}f}"


def cost(spent: Spending) -> str:
    """Format the known cost, and how many calls have an unknown price."""
    amount = known_cost(spent)
    known = "" if amount is None else money(amount)
    if spent.unknown_cost:
        return f"{known}{', ' if known else ''}price unknown for {count(spent.unknown_cost, 'call')}"
    return known or "price unknown"


def calls(spent: Spending) -> str:
    """Format the numbers of sent, cached, failed and repeated calls."""
    found = [count(spent.calls, "call") if spent.calls or not spent.replayed else ""]
    found.append(f"{spent.replayed:,} cached" if spent.replayed else "")
    found.append(f"{spent.failed:,} failed" if spent.failed else "")
    found.append(f"{spent.attempts:,} {'retry' if spent.attempts == 1 else 'retries'}" if spent.attempts else "")
    found.append(f"{spent.repeated:,} sent again after a break" if spent.repeated else "")
    return ", ".join(filter(None, found))


def tokens(spent: Spending) -> str:
    """Format input and output tokens, and how many calls did not report any; empty if no call was sent."""
    if spent.unknown_usage >= spent.calls:
        return "tokens unknown" if spent.calls else ""
    left_out = f" ({count(spent.unknown_usage, 'call')} without a count)" if spent.unknown_usage else ""
    return f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out{left_out}"


def spent_lines(run: Run) -> list[tuple[str, str]]:
    """Make one (name, text) pair for each model, service and command, and one for the total of several models."""
    found = [(one_line(spent.model), _line(spent)) for spent in run.spending]
    models = [spent for spent in run.spending if spent.is_model]
    total = ("in all" if len(models) == len(found) else "all models", _line(total_spending(models)))
    return [*found, total] if len(models) > 1 else found


def spent_title(run: Run) -> str:
    """Return the heading of the lines: not every call is one to a model."""
    return "Model calls" if all(spent.is_model for spent in run.spending) else "Calls"


def _line(spent: Spending) -> str:
    has_tokens = spent.is_model or spent.unknown_usage < spent.calls
    has_cost = spent.is_model or spent.cost is not None
    parts = calls(spent), tokens(spent) if has_tokens else "", cost(spent) if has_cost else ""
    return " · ".join(filter(None, parts))
