"""1 when the completion's only <answer> is the row's number, within a tolerance and in a
compatible unit, else 0.

Reads 1,234.5 and -3, 2e-4 and 1.2 × 10^3, 3/4 and 75 %, and units: 1.5 km is 1500 m. Nothing
else may be in the block. Whole numbers must match exactly, unless the row has a `tolerance` (in
its unit).
"""

import re
from decimal import Context, Decimal, localcontext

RELATIVE = 0.001  # share of an answer with a fraction that a number may be off
UNIT_NEEDED = (
    True  # an answer that has a unit wants one; False: a number without one is taken to be in that unit
)
# unit: [what it measures, how many of the base unit it is]; "" is a plain number
UNITS = {
    "": ["number", "1"], "%": ["number", "0.01"], "$": ["dollars", "1"], "€": ["euros", "1"],
    "mm": ["length", "0.001"], "cm": ["length", "0.01"], "m": ["length", "1"], "km": ["length", "1000"],
    "mg": ["mass", "0.000001"], "g": ["mass", "0.001"], "kg": ["mass", "1"], "t": ["mass", "1000"],
    "ms": ["time", "0.001"], "s": ["time", "1"], "min": ["time", "60"], "h": ["time", "3600"],
    "ml": ["volume", "0.001"], "l": ["volume", "1"], "m/s": ["speed", "3.6"], "km/h": ["speed", "1"],
    "N": ["force", "1"], "J": ["energy", "1"], "kJ": ["energy", "1000"], "W": ["power", "1"], "kW": ["power", "1000"],
}  # fmt: skip
NUMBER = re.compile(
    r"(?P<sign>[-+−]?)(?P<money>[$€]?)"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:(?:[eE]|\s?[×x*]\s?10\^)(?P<power>[-+]?[0-9]{1,3})|/(?P<divisor>[0-9]+))?\s?(?P<unit>\S{0,8})"
)


def quantity(text):
    """(number, unit) if the text is nothing else, or None."""
    match = NUMBER.fullmatch(text.strip()) if len(text) < 200 else None
    if not match or (match["money"] and match["unit"]) or (match["money"] or match["unit"]) not in UNITS:
        return None
    divisor = Decimal(match["divisor"] or 1)
    if not divisor:
        return None
    number = Decimal(match["digits"].replace(",", "")).scaleb(int(match["power"] or 0)) / divisor
    return (number if match["sign"] in ("", "+") else -number), match["money"] or match["unit"]


def answer_in(text):
    visible = text.rpartition("</think>")[2]
    one = visible.count("<answer>") == visible.count("</answer>") == 1 and "<think>" not in visible
    return visible.partition("<answer>")[2].partition("</answer>")[0] if one else None


def compare(text, item):
    expected = quantity(f"{item['answer']} {item.get('unit') or ''}")
    if expected is None:
        return None  # this row has no number to compare with
    answer = quantity(text)
    if answer is None:
        return {"score": 0.0, "reason": f"not one number with a known unit: {text.strip()[:40]!r}"}
    number, unit = expected
    kind, factor = UNITS[unit]
    answer_kind, answer_factor = UNITS[answer[1] or ("" if UNIT_NEEDED else unit)]
    if answer_kind != kind:
        return {"score": 0.0, "reason": f"a {answer_kind}, expected a {kind}"}
    whole = number == number.to_integral_value()
    margin = item.get("tolerance", 0 if whole else abs(number) * Decimal(str(RELATIVE)))
    value = answer[0] * Decimal(answer_factor) / Decimal(factor)
    right = abs(value - number) <= Decimal(str(margin))
    return {
        "score": float(right),
        "reason": f"{value:.9g} {unit}, expected {number:.9g} ± {float(margin):.2g}",
    }


def grade(sample, item):
    text = answer_in(sample["output_text"])
    if text is None:
        return {"score": 0.0, "reason": "not exactly one <answer> block after the thinking"}
    with localcontext(Context(prec=100)):
        return compare(text, item)
