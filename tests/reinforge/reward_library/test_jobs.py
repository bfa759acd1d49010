"""Ready rewards by name in a job file."""

from pathlib import Path

import pytest

from reinforge.errors import InvalidInput, NotFound
from reinforge.offline import jobfile
from reinforge.reward_library import library
from reinforge.reward_library.jobs import expanded
from reinforge.reward_spec import PythonReward
from reinforge.spec import JobSpec

EXAMPLE = Path(__file__).parents[3] / "examples" / "ready" / "job.yaml"


def test_the_example_names_two_and_sets_one() -> None:
    right, brief = jobfile.load(EXAMPLE).rewards
    assert isinstance(right, PythonReward) and isinstance(brief, PythonReward)
    assert (right.name, right.weight, brief.name, brief.weight) == ("correct", 1.0, "brief", 0.1)
    assert brief.source is not None and "\nMOST = 80  #" in brief.source


@pytest.mark.parametrize("id", [reward.id for reward in library()])
def test_every_ready_reward_can_be_named(id: str) -> None:
    job = JobSpec.model_validate(
        {"model": "m", "data": {"dataset": "d"}, "rewards": [expanded({"ready": id})]}
    )
    assert job.rewards[0].name == id


def test_what_stands_beside_the_name_stays() -> None:
    reward = expanded({"ready": "shorter_wins", "weight": 2, "on_error": "zero", "name": "short"})
    assert (reward["weight"], reward["on_error"], reward["name"]) == (2, "zero", "short")
    assert reward["granularity"] == "group"
    assert expanded({"ready": "code_tests", "parameters": {"timeout_seconds": 9}})["timeout_seconds"] == 9


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(NotFound, match="nope"):
        expanded({"ready": "nope"})
    with pytest.raises(InvalidInput, match="SPEED"):
        expanded({"ready": "numeric", "parameters": {"SPEED": 1}})
    with pytest.raises(InvalidInput, match="source"):
        expanded({"ready": "numeric", "source": "x"})
