"""The stored series of a run: one small JSON file each, enough to diagnose the job again."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from common.folder import Series
from common.runs import ROOT, Result, Run, rounded

from zoo.data import facts

Kind = Literal["failing", "healthy", "constructed", "healed"]
DIGITS = 4
LEFT_OUT = (
    "/low",
    "/high",
    "held_out/best@",
    "throughput/",
    "memory/",
    "optimizer/updates",
    "tokens/trained",
)
"""Metrics that follow from others or from the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    name: str
    seed: int
    kind: Kind
    digest: str
    outcome: str
    reason: str | None = None
    step: int
    seconds: float
    spec: dict[str, Any]
    """As it was sent; paths are relative to the repository."""
    facts: dict[str, int]
    train: Series
    held_out: Series
    accuracy: dict[str, list[list[float]]] = field(default_factory=dict)
    """Right sums, by `zoo.truth`. No part of what detectors read."""
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.seed

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{self.seed}.json"
        text = json.dumps(rounded(asdict(self), DIGITS), separators=(",", ":"), ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> "StoredRun":
        fields = json.loads(path.read_text(encoding="utf-8"))
        return cls(**fields | {split: Series(**fields[split]) for split in ("train", "held_out")})


def read_all(folder: Path) -> dict[tuple[str, int], StoredRun]:
    """By name and seed."""
    return {run.key: run for run in map(StoredRun.read, sorted(folder.glob("*.json")))}


def of_result(run: Run, result: Result, kind: Kind, data: Path) -> StoredRun:
    paths = (run.spec["data"]["dataset"], run.spec["data"]["held_out"])
    names = [path and str(Path(path).relative_to(data).with_suffix("")) for path in paths]
    return StoredRun(
        name=run.name,
        seed=run.seed,
        kind=kind,
        digest=result.digest,
        outcome=result.outcome,
        reason=(result.cause or "").partition(":")[0] or None,
        step=result.step,
        seconds=result.seconds,
        spec=json.loads(json.dumps(run.spec | {"seed": run.seed}).replace(f"{ROOT}/", "")),
        facts=facts(data, names[0], names[1]),
        train=_smaller(result.train),
        held_out=_smaller(result.held_out),
        **result.extra,
    )


def _smaller(series: Series) -> Series:
    def needed(name: str, values: Iterable[float | None]) -> bool:
        return not any(part in name for part in LEFT_OUT) and any(value is not None for value in values)

    return Series(series.steps, {name: list(v) for name, v in series.values.items() if needed(name, v)})
