"""`SweepSpec`: specification of a sweep, for API, SDK, command line and page."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from reinforge.algorithm.base import SpecModel, fault_at

MOST_TRIALS = 1000
MOST_PARAMETERS = 32
MAX_SEED = 2**31 - 1

Method = Literal["grid", "random", "tpe", "cma_es", "ladder"]
Objective = Literal["last", "best"]


class ParameterRange(SpecModel):
    """Numbers from `min` to `max`, both included."""

    min: float
    max: float
    log: bool = False
    """Space values evenly on a logarithmic scale; needs `min` above 0."""
    integer: bool = False
    """Whole numbers only."""
    points: int | None = Field(default=None, ge=2, le=100)
    """Number of evenly spaced values; needed by a grid."""

    @model_validator(mode="after")
    def ordered(self) -> Self:
        if self.min >= self.max:
            raise ValueError("`min` is not below `max`")
        if self.log and self.min <= 0:
            raise ValueError("a logarithmic scale needs `min` above 0")
        if self.integer and not (self.min.is_integer() and self.max.is_integer()):
            raise ValueError("`integer` needs whole numbers as `min` and `max`")
        return self


Choices = Annotated[list[Any], Field(min_length=1, max_length=100)]
Parameter = Annotated[
    Annotated[Choices, Tag("choices")] | Annotated[ParameterRange, Tag("range")],
    Discriminator(lambda value: "choices" if isinstance(value, list) else "range"),
]
"""A list of values, or a range."""
Path = Annotated[str, Field(min_length=1, max_length=200)]


class Rung(SpecModel):
    """One rung of a ladder: settings added to those of all rungs before it."""

    name: str | None = Field(default=None, max_length=100)
    set: dict[Path, Any] = Field(min_length=1, max_length=MOST_PARAMETERS)
    """Dotted path in the job → value."""


class SweepBudget(SpecModel):
    """Limits on a sweep. Reaching one stops new jobs; `seconds` and `money` also end running jobs."""

    jobs: int | None = Field(default=None, ge=1, le=MOST_TRIALS)
    """Maximum number of jobs started."""
    seconds: float | None = Field(default=None, gt=0)
    """Maximum seconds of workers' time."""
    money: float | None = Field(default=None, gt=0)
    """Maximum cost of judges and of workers' time (at `REINFORGE_GPU_HOUR_PRICE`)."""


class Halving(SpecModel):
    """Successive halving: of the jobs with equally many evaluations, only the best continue.

    Jobs are compared after `first` evaluations, `first × factor`, `first × factor²`, and so on. A job ends if
    it is not among the best 1/`factor` of those that got as far. Evaluations before training do not count.
    """

    factor: int = Field(default=2, ge=2, le=10)
    first: int = Field(default=2, ge=2, le=1000)
    """Evaluations before the first comparison."""


class SweepSpec(SpecModel):
    """Jobs that differ in chosen settings."""

    name: str | None = Field(default=None, max_length=150)
    """Beginning of the jobs' names; default: the method and the base model."""
    job: dict[str, Any]
    """Job specification that all jobs share."""
    method: Method = "grid"
    """`grid`: all combinations. `random`: `trials` random ones. `tpe`: `trials` that Optuna's TPE sampler
    chooses by earlier results. `cma_es`: the same by CMA-ES, for two or more numeric parameters.
    `ladder`: the job as it is, then one job per rung, with this rung and those before.
    """
    parameters: dict[Path, Parameter] = Field(default_factory=dict, max_length=MOST_PARAMETERS)
    """Dotted path in the job (`algorithm.preset`, `rewards.correct.weight`) → values to try."""
    rungs: list[Rung] = Field(default_factory=list, max_length=100)
    """Rungs of a ladder, in order of their jobs."""
    trials: int | None = Field(default=None, ge=1, le=MOST_TRIALS)
    """Number of settings to try, for methods other than `grid` and `ladder`."""
    seeds: (
        Annotated[int, Field(ge=1, le=100)] | Annotated[list[int], Field(min_length=1, max_length=100)] | None
    ) = None
    """Seeds with which each setting runs, or their number; default: the job's seed."""
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    """Seed of the random choice of settings."""
    parallel: int = Field(default=4, ge=1, le=100)
    """Maximum number of jobs queued or running at a time."""
    budget: SweepBudget = SweepBudget()
    halving: Halving | None = None
    objective: Objective = "last"
    """Held-out reward to compare by: of the last evaluation, or the best of all, which favours noisy jobs."""

    @property
    def seed_values(self) -> list[int | None]:
        if self.seeds is None:
            return [None]
        return list(range(self.seeds)) if isinstance(self.seeds, int) else list(self.seeds)

    @property
    def depends_on_results(self) -> bool:
        """Whether later settings are chosen by the results of earlier ones."""
        return self.method in ("tpe", "cma_es")

    @model_validator(mode="after")
    def parts_agree(self) -> Self:
        if self.method == "ladder":
            self._check_ladder()
        elif self.rungs:
            raise fault_at("rungs", "`rungs` need method `ladder`: set it, or remove them")
        elif self.method == "grid":
            self._check_grid()
        else:
            if not self.parameters:
                raise fault_at("parameters", f"method `{self.method}` needs parameters")
            if self.trials is None:
                raise fault_at("trials", f"method `{self.method}` needs the number of settings to try")
        seeds = self.seed_values
        if len(set(seeds)) < len(seeds):
            raise fault_at("seeds", "a seed appears twice: remove one of them")
        if any(seed is not None and not 0 <= seed <= MAX_SEED for seed in seeds):
            raise fault_at("seeds", f"a seed is a whole number from 0 to {MAX_SEED}")
        if self.seeds is not None and "seed" in self.parameters:
            raise fault_at("parameters.seed", "vary seeds by `seeds` or as a parameter, not both")
        if "name" in self.parameters:
            raise fault_at(
                "parameters.name", "`name` cannot vary, because jobs are named after their settings"
            )
        return self

    def _check_ladder(self) -> None:
        if not self.rungs:
            raise fault_at("rungs", "method `ladder` needs `rungs`")
        if self.parameters:
            raise fault_at(
                "parameters", "method `ladder` varies `rungs` instead of `parameters`: remove `parameters`"
            )
        if self.trials is not None:
            raise fault_at(
                "trials", "method `ladder` tries the job itself and one setting per rung: remove `trials`"
            )

    def _check_grid(self) -> None:
        if not self.parameters and self.seeds is None:
            raise fault_at("parameters", "there is nothing to vary: name parameters or seeds")
        if self.trials is not None:
            raise fault_at(
                "trials",
                "method `grid` tries all combinations: limit it by `budget.jobs`, or use method `random`",
            )
        for path, parameter in self.parameters.items():
            if isinstance(parameter, ParameterRange) and parameter.points is None:
                raise fault_at(
                    f"parameters.{path}", "a grid needs `points`, the number of values of the range"
                )
