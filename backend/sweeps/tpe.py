"""Settings that Optuna's TPE sampler chooses by the results so far."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from backend.sweeps.planner import TrialRecord, objective
from reinforge.sweeps import ParameterRange, SweepSpec
from reinforge.sweeps.variations import finite_values, label, random_setting, rounded

if TYPE_CHECKING:  # 0.3 s and 40 MB, for the process that plans a sweep with this method
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

RANDOM_SETTINGS = 10
"""Measured settings before the sampler chooses; a third of a short sweep."""
FEWEST = 3
REPEATS = 10


class SettingSampler:
    def __init__(self, spec: SweepSpec, records: Sequence[TrialRecord]) -> None:
        self._spec = spec
        groups: dict[int, list[TrialRecord]] = defaultdict(list)
        for record in records:
            groups[record.setting].append(record)
        self._outcomes = [outcome(spec, group) for _, group in sorted(groups.items())]
        self._settings = {_key(group[0].parameters) for group in groups.values()}
        self._sampled: dict[str, SampledParameter] = {}
        self._study: Study | None = None

    def next_setting(self, setting: int) -> tuple[str, dict[str, Any]]:
        measured = sum(outcome.is_measured for outcome in self._outcomes)
        if measured < startup_settings(self._spec):
            parameters = random_setting(self._spec, setting)
        else:
            parameters = self._chosen(setting)
        if _key(parameters) in self._settings:
            parameters = next(self._new_combinations(), parameters)
        self._settings.add(_key(parameters))
        return label(parameters), parameters

    def _chosen(self, setting: int) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        for attempt in range(REPEATS):
            parameters = self._ask(f"{self._spec.seed}/{setting}/{attempt}")
            if _key(parameters) not in self._settings:
                break
        return parameters

    def _ask(self, seed: str) -> dict[str, Any]:
        from optuna.samplers import TPESampler

        if self._study is None:
            self._study = self._rebuild()
        self._study.sampler = TPESampler(seed=random.Random(seed).getrandbits(32), n_startup_trials=0)
        distributions = {path: part.distribution for path, part in self._sampled.items()}
        trial = self._study.ask(fixed_distributions=distributions)
        return {path: part.decode(trial.params[path]) for path, part in self._sampled.items()}

    def _rebuild(self) -> "Study":
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._sampled = {
            path: sampled_parameter(parameter) for path, parameter in self._spec.parameters.items()
        }
        study = optuna.create_study(study_name="sweep", direction="maximize")
        study.add_trials([trial for item in self._outcomes if (trial := self._trial(item)) is not None])
        return study

    def _trial(self, item: "SettingOutcome") -> "FrozenTrial | None":
        from optuna.trial import TrialState, create_trial

        if item.is_ignored:
            return None
        state = (
            TrialState.RUNNING if item.is_open
            else TrialState.COMPLETE if item.is_complete
            else TrialState.PRUNED
        )  # fmt: skip
        return create_trial(
            state=state,
            value=item.reward if state == TrialState.COMPLETE else None,
            params={path: part.encode(item.parameters[path]) for path, part in self._sampled.items()},
            distributions={path: part.distribution for path, part in self._sampled.items()},
            intermediate_values=(
                {item.evaluations: item.reward}
                if state == TrialState.PRUNED and item.reward is not None
                else {}
            ),
        )

    def _new_combinations(self) -> Iterator[dict[str, Any]]:
        values = finite_values(self._spec)
        if values is None:
            return
        for combination in product(*values.values()):
            parameters = dict(zip(values, combination, strict=True))
            if _key(parameters) not in self._settings:
                yield parameters


@dataclass(frozen=True)
class SettingOutcome:
    parameters: dict[str, Any]
    is_open: bool
    is_complete: bool
    is_failed: bool
    """Worse than every setting with a reward."""
    reward: float | None
    evaluations: int

    @property
    def is_ignored(self) -> bool:
        return not self.is_open and not self.is_measured

    @property
    def is_measured(self) -> bool:
        return not self.is_open and (self.reward is not None or self.is_failed)


def outcome(spec: SweepSpec, trials: Sequence[TrialRecord]) -> SettingOutcome:
    rewards = [reward for trial in trials if (reward := objective(spec, trial)[0]) is not None]
    return SettingOutcome(
        parameters=trials[0].parameters,
        is_open=any(trial.is_open for trial in trials),
        is_complete=bool(rewards) and any(trial.status == "succeeded" for trial in trials),
        is_failed=not rewards and any(trial.status in ("failed", "refused") for trial in trials),
        reward=fmean(rewards) if rewards else None,
        evaluations=max(len(trial.rewards) for trial in trials),
    )


def startup_settings(spec: SweepSpec) -> int:
    return min(RANDOM_SETTINGS, max(FEWEST, (spec.trials or 0) // 3))


@dataclass(frozen=True)
class SampledParameter:
    """A parameter of Optuna: a number of a range, or the index of a choice."""

    distribution: "BaseDistribution"
    choices: list[Any]
    scale: ParameterRange | None

    def encode(self, value: Any) -> int | float:
        if self.scale is not None:
            return int(value) if self.scale.integer else float(value)
        return next(index for index, choice in enumerate(self.choices) if _key(choice) == _key(value))

    def decode(self, value: Any) -> Any:
        return self.choices[value] if self.scale is None else rounded(self.scale, value)


def sampled_parameter(parameter: list[Any] | ParameterRange) -> SampledParameter:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(parameter, ParameterRange):
        if parameter.integer:
            whole = IntDistribution(int(parameter.min), int(parameter.max), log=parameter.log)
            return SampledParameter(whole, [], parameter)
        return SampledParameter(
            FloatDistribution(parameter.min, parameter.max, log=parameter.log), [], parameter
        )
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in parameter):
        return SampledParameter(IntDistribution(0, len(parameter) - 1), sorted(parameter), None)
    return SampledParameter(CategoricalDistribution(range(len(parameter))), parameter, None)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
