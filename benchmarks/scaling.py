"""Time and memory of a GRPO step against the model's size, G, and the length of prompts and completions.

    benchmarks/scaling.py [--only size,group,prompt,completion] [--rounds 1] [--pictures FOLDER] [--json OUT] [--quick]

One thing is varied at a time around one point: a random Qwen3 of 8 million parameters, 4 prompts of 128 tokens × 8
completions of 64 tokens, random rewards, float32; no completion ends by itself. `reinforge train` beside TRL's
GRPOTrainer, in turns, each run a process of its own of four steps, of which the first does not count; both as in
`trainer_vs_trl.py`, TRL at all points with the threads and micro-batches that are fastest at the one in the middle;
elsewhere others may be faster, or take less memory. Memory is the most that the
process held, above what it held once the model was loaded. Two pictures, of time and of memory, go beside the results,
or into the folder that --pictures names. Interrupted, it continues: points that were measured stand one per line in
`results/scaling`; without that folder it starts from zero.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from common.measure import RESULTS, ROOT, alternate, machine, median, parser, table, write
from common.panels import Panel, drawn
from common.random_model import make, narrow, prompts
from common.trainers import Run, fastest, reinforge, trl

REWARD = ROOT / "benchmarks" / "common" / "random_reward.py"
STEPS = 4
PROMPTS_PER_STEP = 4
CHOICES = ((1, 1), (2, 1), (2, 4))
"""Threads and micro-batches that TRL may run with."""


@dataclass(frozen=True, slots=True)
class Point:
    hidden: int = 256
    layers: int = 8
    group: int = 8
    prompt: int = 128
    completion: int = 64


BASE = Point()
AXES: dict[str, tuple[str, list[Point]]] = {
    "size": (
        "million parameters",
        [replace(BASE, hidden=h, layers=n) for h, n in ((128, 4), (256, 8), (512, 12), (768, 16))],
    ),
    "group": ("completions per prompt", [replace(BASE, group=group) for group in (2, 4, 8, 16, 32)]),
    "prompt": ("prompt tokens", [replace(BASE, prompt=tokens) for tokens in (32, 128, 512, 1024)]),
    "completion": ("completion tokens", [replace(BASE, completion=tokens) for tokens in (16, 64, 256, 512)]),
}
"""Of each thing that is varied: how it is called, and the points."""
MEASURES = {
    "time": ("Seconds per step", "seconds"),
    "memory": ("Memory of a step (MiB)", "memory_mib"),
}


@dataclass(frozen=True, slots=True)
class Measured:
    point: Point
    parameters: int
    ours: list[Run]
    peer: list[Run]

    def value(self, axis: str) -> float:
        """Where the point stands on the axis; millions of parameters on that of sizes."""
        return round(self.parameters / 1e6, 1) if axis == "size" else float(getattr(self.point, axis))

    def as_dict(self) -> dict[str, Any]:
        """The medians of both sides, and every run."""
        ours, peer = ([_of(run) for run in side] for side in (self.ours, self.peer))
        result: dict[str, Any] = {"point": asdict(self.point), "parameters": self.parameters}
        for key in ("seconds", "memory_mib"):
            result[f"ours_{key}"], result[f"peer_{key}"] = (
                median([run[key] for run in side]) for side in (ours, peer)
            )
        runs = {"reinforge": [asdict(run) for run in self.ours], "trl": [asdict(run) for run in self.peer]}
        return result | {"runs": runs}


def _of(run: Run) -> dict[str, float]:
    return {"seconds": median(run.seconds), "memory_mib": run.memory_mib}


def job(point: Point, folder: Path, steps: int) -> tuple[dict[str, Any], int]:
    """The job file of a point, and its model's parameters; model and rows are made in `folder`."""
    model, rows = folder / "model", folder / "rows.jsonl"
    parameters = make(model, narrow(point.hidden, point.layers))
    lines = [
        json.dumps({"messages": [{"role": "user", "content": text}], "answer": "0"})
        for text in prompts(4 * PROMPTS_PER_STEP, point.prompt)
    ]
    rows.write_text("\n".join(lines), encoding="utf-8")
    made = {
        "model": str(model),
        "data": {"dataset": str(rows)},
        "rewards": [{"type": "python", "name": "reward", "path": str(REWARD)}],
        "algorithm": {"preset": "grpo", "loss": {"aggregation": {"type": "token_mean"}}},
        "rollout": {
            "prompts_per_step": PROMPTS_PER_STEP,
            "completions_per_prompt": point.group,
            "max_completion_tokens": point.completion,
        },
        "adapter": {"rank": 16},
        "optimizer": {"learning_rate": 1e-4},
        "limits": {"steps": steps, "checkpoint_every": steps + 1},
        "evaluation": {"rows": 0},
    }
    return made, parameters


class Points:
    """What was measured, kept in a file. `how`: what besides the point decides a measurement."""

    def __init__(self, file: Path, *how: object) -> None:
        self._file, self._how = file, how
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        self._have = {line["key"]: line["measured"] for line in map(json.loads, text.splitlines())}

    def get(self, point: Point, measure: Callable[[Point], Measured]) -> Measured:
        key = json.dumps([asdict(point), self._how], sort_keys=True)
        if key not in self._have:
            stored = self._have[key] = asdict(measure(point))
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"key": key, "measured": stored}) + "\n")
        have = self._have[key]
        runs = {side: [Run(**run) for run in have[side]] for side in ("ours", "peer")}
        return Measured(point, have["parameters"], **runs)


def measure(point: Point, rounds: int, steps: int, choice: tuple[int, int]) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        settings, parameters = job(point, Path(folder), steps)
        pairs = alternate(rounds, lambda: reinforge(settings, None), lambda: trl(settings, "cpu", choice))
    return Measured(point, parameters, [ours for ours, _ in pairs], [peer for _, peer in pairs])


def best_choice(file: Path) -> tuple[int, int]:
    """What is fastest; kept in `file`."""
    if file.exists():
        threads, micro_batches = json.loads(file.read_text(encoding="utf-8"))
        return threads, micro_batches
    with tempfile.TemporaryDirectory() as folder:
        choice = fastest(job(BASE, Path(folder), STEPS)[0], "cpu", CHOICES)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(choice), encoding="utf-8")
    return choice


def points(axes: Iterable[str], *, quick: bool) -> list[Point]:
    """Those of the axes, each once."""
    every = [AXES[axis][1] for axis in axes]
    return list(dict.fromkeys(point for chosen in every for point in (chosen[:2] if quick else chosen)))


def pictures(measured_points: Sequence[Measured], axes: Sequence[str]) -> dict[str, str]:
    """Name → SVG. Only axes of which more than one point was measured are drawn."""
    by_point = {measured.point: measured for measured in measured_points}
    drawings = {}
    for name, (title, key) in MEASURES.items():
        panels = []
        for axis in axes:
            label, axis_points = AXES[axis]
            there = [by_point[point] for point in axis_points if point in by_point]
            if len(there) > 1:
                sides = {"Reinforge": f"ours_{key}", "TRL": f"peer_{key}"}
                lines = {
                    side: [(measured.value(axis), max(1e-3, measured.as_dict()[of])) for measured in there]
                    for side, of in sides.items()
                }
                panels.append(Panel(label, lines))
        if panels:
            drawings[f"scaling-{name}"] = drawn(f"{title}, both axes logarithmic", panels)
    return drawings


def show(measured_points: Sequence[Measured]) -> None:
    head = (
        "model, G, prompt, completion",
        "reinforge, s",
        "TRL, s",
        "TRL ÷ reinforge",
        "reinforge, MiB",
        "TRL, MiB",
    )
    rows = []
    for measured in measured_points:
        numbers, point = measured.as_dict(), measured.point
        name = f"{measured.parameters / 1e6:.0f} M, {point.group}, {point.prompt}, {point.completion}"
        ratio = numbers["peer_seconds"] / numbers["ours_seconds"]
        memory = numbers["ours_memory_mib"], numbers["peer_memory_mib"]
        rows.append((name, numbers["ours_seconds"], numbers["peer_seconds"], ratio, *memory))
    table(head, rows)


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", default=",".join(AXES), help="axes, with commas")
    options.add_argument("--rounds", type=int, default=1, help="runs of each side at each point")
    options.add_argument("--pictures", type=Path, default=RESULTS, metavar="FOLDER")
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    arguments = options.parse_args()
    axes = arguments.only.split(",")
    if unknown := set(axes) - set(AXES):
        options.error(f"no such axis: {', '.join(sorted(unknown))}")
    name = "scaling-quick" if arguments.quick else "scaling"
    about = machine("reinforge", "trl", "torch", "transformers", "peft")
    steps = 2 if arguments.quick else STEPS
    choice = CHOICES[0] if arguments.quick else best_choice(RESULTS / name / "choice.json")
    stored = Points(RESULTS / name / "points.jsonl", arguments.rounds, steps, choice)
    measured_points = [
        stored.get(point, lambda point: measure(point, arguments.rounds, steps, choice))
        for point in points(axes, quick=arguments.quick)
    ]
    show(measured_points)
    result = {"machine": about, "peer_threads": choice[0], "peer_micro_batches": choice[1]}
    result["points"] = [measured.as_dict() for measured in measured_points]
    write(name, result, depth=3)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result), encoding="utf-8")
    for file, text in pictures(measured_points, axes).items():
        arguments.pictures.mkdir(exist_ok=True)
        (arguments.pictures / f"{file}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
