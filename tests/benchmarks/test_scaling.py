"""Points of the scaling benchmark: measured, summarised and drawn."""

import json
from pathlib import Path

import pytest
import scaling
from common.trainers import Run
from scaling import AXES, BASE, Measured, Point, Points, job, pictures, points
from transformers import AutoTokenizer

from reinforge.spec import JobSpec


def measured(point: Point, *seconds: float) -> Measured:
    ours = [Run([second, second, 9.0], 1.0, 100.0 + second, [0.5]) for second in seconds]
    peer = [Run([2 * second] * 3, 1.0, 300.0, [0.5]) for second in seconds]
    return Measured(point, 8_390_000, ours, peer)


def test_each_axis_varies_one_thing_around_one_point_and_no_point_is_measured_twice() -> None:
    for axis, (_, there) in AXES.items():
        assert BASE in there
        fields = {"size": ("hidden", "layers")}.get(axis, (axis,))
        for point in there:
            assert all(getattr(point, f) == getattr(BASE, f) for f in Point.__slots__ if f not in fields)
    every = points(AXES, quick=False)
    assert len(every) == len(set(every)) == sum(len(there) for _, there in AXES.values()) - len(AXES) + 1
    assert points(["group"], quick=True) == AXES["group"][1][:2]


def test_a_points_job_is_valid_and_has_its_sizes(tmp_path: Path) -> None:
    point = Point(hidden=128, layers=2, group=4, prompt=33, completion=17)
    made, parameters = job(point, tmp_path, 4)
    spec = JobSpec.model_validate(made).resolved()
    assert (spec.rollout.completions_per_prompt, spec.rollout.max_completion_tokens) == (4, 17)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 16
    assert {len(tokenizer(row["messages"][0]["content"])["input_ids"]) for row in rows} == {33}
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert (config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]) == (
        128,
        2,
        1,
    )
    # Embedding; per layer: attention in and out, three matrices, four norms; the last norm.
    layer = 128 * (128 + 2 * 64 + 128) + 3 * 128 * 384 + 2 * 128 + 2 * 64
    assert parameters == 8192 * 128 + 2 * layer + 128


def test_a_point_is_summarised_by_medians_with_every_run() -> None:
    summary = measured(BASE, 1.0, 3.0, 2.0).as_dict()
    assert (summary["ours_seconds"], summary["peer_seconds"]) == (2.0, 4.0)
    assert (summary["ours_memory_mib"], summary["peer_memory_mib"]) == (102.0, 300.0)
    assert [run["seconds"] for run in summary["runs"]["reinforge"]] == [[1, 1, 9], [3, 3, 9], [2, 2, 9]]
    assert len(summary["runs"]["trl"]) == 3


def test_a_point_is_measured_once(tmp_path: Path) -> None:
    requested_points: list[Point] = []

    def measure(point: Point) -> Measured:
        requested_points.append(point)
        return measured(point, 1.0, 2.0)

    first = Points(tmp_path / "scaling" / "points.jsonl", 2, 4, (1, 1)).get(BASE, measure)
    again = Points(tmp_path / "scaling" / "points.jsonl", 2, 4, (1, 1))
    assert again.get(BASE, measure) == first == measured(BASE, 1.0, 2.0)
    assert requested_points == [BASE]
    other = AXES["group"][1][0]
    again.get(other, measure)
    Points(tmp_path / "scaling" / "points.jsonl", 1, 4, (1, 1)).get(BASE, measure)
    assert requested_points == [BASE, other, BASE]


def test_pictures_are_of_axes_with_more_than_one_point() -> None:
    points = [measured(point, 1.0) for point in AXES["group"][1]]
    drawings = pictures(points, list(AXES))
    assert set(drawings) == {"scaling-time", "scaling-memory"}
    for text in drawings.values():
        assert text.count("<g ") == 1 and "completions per prompt" in text
        assert text.count("<circle") == 2 * len(AXES["group"][1])
    assert pictures(points[:1], ["group"]) == {}


def test_sizes_stand_at_their_parameters() -> None:
    assert measured(BASE, 1.0).value("size") == 8.4
    assert measured(BASE, 1.0).value("prompt") == 128


def test_an_axis_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["scaling.py", "--only", "group,width"])
    with pytest.raises(SystemExit):
        scaling.main()
