"""The sweeps in `examples/sweeps` are what their comments say."""

from pathlib import Path

from reinforge.cli.jobs.sweeps import load
from reinforge.spec import JobSpec
from reinforge.sweeps import SweepSpec, check, job_of, trials

SWEEPS = Path(__file__).parents[2] / "examples" / "sweeps"


def sweep(name: str) -> SweepSpec:
    spec = SweepSpec.model_validate(load(SWEEPS / name))
    check(spec)
    return spec


def test_three_algorithms_run_with_three_seeds() -> None:
    names = [(trial.name, trial.seed) for trial in trials(sweep("algorithms.yaml"))]
    assert names == [(name, seed) for name in ("dr_grpo", "dapo", "gspo") for seed in (0, 1, 2)]


def test_the_ladder_climbs_from_grpo_to_dapo() -> None:
    spec = sweep("dapo-ladder.yaml")
    ladder = [JobSpec.model_validate(job_of(spec, trial, "x")).algorithm for trial in trials(spec)]
    dapo = spec.job | {"algorithm": spec.job["algorithm"] | {"preset": "dapo"}}
    label = {"preset"}
    assert ladder[-1].model_dump(exclude=label) == JobSpec.model_validate(dapo).algorithm.model_dump(
        exclude=label
    )
    assert ladder[0] == JobSpec.model_validate(spec.job).algorithm
    assert len({str(algorithm) for algorithm in ladder}) == 5
