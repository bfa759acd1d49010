"""Number formats in messages of the training check."""

import math


def format_reward(value: float) -> str:
    return f"{value:.2f}"


def format_number(value: float) -> str:
    """Three significant digits: `0.953`, `48`, `12,345`, `2.1e-06`."""
    size = abs(value)
    if size == 0 or not math.isfinite(value):
        return "0" if size == 0 else str(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size < 1e-3:
        return f"{value:.1e}"
    text = f"{value:.{max(0, 2 - math.floor(math.log10(size)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_percent(share: float) -> str:
    """A share in percent, never rounded to 0 % or 100 %."""
    value = 100 * share
    return "<1%" if 0 < value < 1 else ">99%" if 99 < value < 100 else f"{value:.0f}%"
