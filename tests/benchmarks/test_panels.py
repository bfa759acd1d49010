"""Charts with logarithmic axes: where things stand, and that the file is one that browsers read."""

import xml.etree.ElementTree as ET

import pytest
from common.panels import COLOURS, Panel, drawn, ticks

SVG = "{http://www.w3.org/2000/svg}"


def test_points_stand_at_equal_distances_for_equal_factors() -> None:
    panels = [
        Panel("tokens", {"ours": [(1, 10), (10, 100), (100, 1000)], "TRL <peer>": [(1, 1000)]}),
        Panel("G", {"ours": [(2, 10), (4, 10)]}),
    ]
    root = ET.fromstring(drawn("Time & memory", panels))
    first, second = root.findall(f"{SVG}g")
    circles = first.findall(f"{SVG}circle")
    own = [circle for circle in circles if circle.get("fill") == COLOURS[0]]
    xs, ys = ([float(circle.get(key) or "nan") for circle in own] for key in ("cx", "cy"))
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1]) and xs[0] < xs[1]
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2]) and ys[0] > ys[1]
    (other,) = (circle for circle in circles if circle.get("fill") == COLOURS[1])
    assert (float(other.get("cx") or "nan"), float(other.get("cy") or "nan")) == (xs[0], ys[2])
    flat = [circle.get("cy") for circle in second.findall(f"{SVG}circle")]
    assert flat[0] == flat[1] == own[0].get("cy")  # both panels share the vertical axis
    texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert {"Time & memory", "● ours● TRL <peer>", "tokens", "G", "1", "10", "100"} <= set(texts)


def test_one_value_stands_in_the_middle() -> None:
    root = ET.fromstring(drawn("one", [Panel("x", {"ours": [(8, 3)]})]))
    assert len(list(root.iter(f"{SVG}circle"))) == 1
    assert "nan" not in ET.tostring(root, encoding="unicode")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1, 10, [1, 2, 5, 10]), (0.3, 3, [0.5, 1, 2]), (1, 1e5, [1, 10, 100, 1000, 1e4, 1e5]), (6, 8, [6])],
)
def test_ticks_are_round_and_few(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)
