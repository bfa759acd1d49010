"""Series that were written, not measured: a healthy run in which something is replaced."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from common.folder import Series

from zoo.failures import CONSTRUCTED
from zoo.stored import StoredRun

GAP, LARGEST_GAP, KL, EFFECTIVE = 0.12, 2.5, 0.03, 0.7
"""Of sampler and trainer, where the sampler has a temperature of 0.7 that the trainer takes for 1."""

Values = list[float | None]


def _mismatch(train: Series, rng: random.Random) -> dict[str, Values]:
    return {
        "sampler/gap_mean": [GAP * rng.uniform(0.8, 1.2) for _ in train.steps],
        "sampler/gap_max": [LARGEST_GAP * rng.uniform(0.6, 1.4) for _ in train.steps],
        "sampler/kl": [KL * rng.uniform(0.7, 1.3) for _ in train.steps],
        "sampler/effective_share": [EFFECTIVE * rng.uniform(0.8, 1.2) for _ in train.steps],
    }


WRITERS = {"sampler-mismatch": (_mismatch, 1)}
"""Who writes a failure's series, and since which step it can be seen."""


def write_all(healthy: StoredRun, folder: Path, seeds: Sequence[int]) -> None:
    for failure in CONSTRUCTED:
        for seed in seeds:
            writer, _ = WRITERS[failure.name]
            values = healthy.train.values | writer(healthy.train, random.Random(seed))
            run = replace(
                healthy,
                name=failure.name,
                seed=seed,
                kind="constructed",
                digest=f"{healthy.digest}-{failure.name}",
                train=Series(healthy.train.steps, values),
                examples={},
            )
            run.write(folder)
