"""Settings that Optuna's CMA-ES sampler chooses."""

import math
import random
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from backend.sweeps.samplers import SettingOutcome, SettingSampler, startup_settings
from reinforge.sweeps import SweepSpec

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


class CmaEsSettingSampler(SettingSampler):
    """CMA-ES sampler. Its generations consist of the settings with a result, in the order of their numbers.

    Optuna keeps its optimizer, pickled, in attributes of trials. These attributes are computed from the
    results each time and never stored, so nothing from the database is unpickled.
    """

    def _is_random(self, setting: int) -> bool:
        return setting < startup_settings(self._spec)

    def _sample(self, seed: str) -> dict[str, int | float]:
        number = random.Random(seed).getrandbits(32)
        return self._trial_after([self._carrier(self._attributes)], number).params

    @cached_property
    def _attributes(self) -> dict[str, Any]:
        """Attributes of a trial in the newest generation: the generation's number, and the optimizer."""
        measured = [item for item in self._outcomes[startup_settings(self._spec) :] if item.is_measured]
        levels = sorted({_level(item) for item in measured})
        ranks = [levels.index(_level(item)) for item in measured]
        attributes = self._trial_after([self._carrier({})]).system_attrs
        size = population(self._spec)
        for first in range(0, len(measured) - size + 1, size):
            generation = [
                self._trial(self._encoded(measured[member].parameters), ranks[member], attributes)
                for member in range(first, first + size)
            ]
            attributes = self._trial_after(generation).system_attrs
        return attributes

    def _trial_after(self, completed: "Sequence[FrozenTrial]", seed: int = 0) -> "FrozenTrial":
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.CmaEsSampler(seed=seed, popsize=population(self._spec))
        study = optuna.create_study(study_name="sweep", direction="maximize", sampler=sampler)
        study.add_trials(completed)
        study.ask(fixed_distributions=self._distributions)
        return study.get_trials(deepcopy=False)[-1]

    def _carrier(self, attributes: dict[str, Any]) -> "FrozenTrial":
        """A trial that has the parameters and `attributes`; its values are not used."""
        lowest = {path: part.lowest for path, part in self._sampled.items()}
        return self._trial(lowest, 0, attributes)

    def _trial(self, values: dict[str, int | float], rank: int, attributes: dict[str, Any]) -> "FrozenTrial":
        from optuna.trial import create_trial

        return create_trial(
            value=float(rank), params=values, distributions=self._distributions, system_attrs=attributes
        )


def population(spec: SweepSpec) -> int:
    """Settings per generation, by CMA-ES's rule for the number of parameters."""
    return 4 + int(3 * math.log(len(spec.parameters)))


def _level(item: SettingOutcome) -> tuple[int, int, float]:
    """Sort key of a setting, worst first: failed; ended by halving, earlier before later; complete."""
    if item.reward is None:
        return 0, 0, 0.0
    return (2, 0, item.reward) if item.is_complete else (1, item.evaluations, item.reward)
