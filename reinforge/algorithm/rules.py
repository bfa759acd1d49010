"""How the slots go together, and with the rest of a job: each rule names the field at fault and what to change."""

from collections.abc import Callable

from reinforge.algorithm.base import fault_at
from reinforge.algorithm.slots import Algorithm

SINGLE_TURN = "single_turn"


def credit_for_turns(algorithm: Algorithm, environment: str) -> None:
    """An estimator that compares turns has nothing to compare where a rollout has one."""
    kind = algorithm.advantage.type
    if algorithm.advantage.needs_turns and environment == SINGLE_TURN:
        raise fault_at(
            "algorithm.advantage.type",
            f"advantage `{kind}` compares the turns of agents and the states they act in; with environment "
            f"`{SINGLE_TURN}` a rollout is one completion: take `grpo`, or an environment with turns",
        )


RULES: tuple[Callable[[Algorithm, str], None], ...] = (credit_for_turns,)


def check(algorithm: Algorithm, environment: str) -> None:
    """Raises PydanticCustomError for the first rule that is broken; `environment` is the `type` of the job's."""
    for rule in RULES:
        rule(algorithm, environment)
