"""Strangers and a hostile member of another project, for some seconds: nobody else notices but by waiting.

The same code as `make proof-hostile`, which measures the waiting; here nothing depends on how fast the machine is.
"""

import os

import pytest
from attack.report import verdicts
from attack.trial import Load
from hostile import measure

pytestmark = pytest.mark.skipif(
    os.environ.get("REINFORGE_TEST_ATTACK") != "1",
    reason="it slows down every other test: make test-attack runs it alone",
)
LOAD = Load(preparing=15, quiet=3, attack=20, settle=5, clients=200, pages=2, check=0)
MEASURED = ("p99", "trained in both", "memory flat")
"""Words of verdicts that a loaded machine or so short a time may break.

For the same reason nobody checks rewards (`check=0`): a check that has not been answered for 20 s fails.
"""


@pytest.fixture(scope="module")
def trial() -> dict[str, object]:
    return measure(LOAD)


def test_nobody_else_is_harmed(trial: dict[str, object]) -> None:
    broken = [
        promise
        for promise, holds in verdicts(trial).items()
        if not holds and not any(word in promise for word in MEASURED)
    ]
    assert not broken, (broken, trial)


def test_memory_is_bounded(trial: dict[str, object]) -> None:
    memory = trial["memory_mib"]
    assert isinstance(memory, dict)
    assert memory["attacked"]["api"] < 1500, "with the processes that read 200 rows of 1 MiB"


def test_the_attack_took_place(trial: dict[str, object]) -> None:
    """Of each kind something was sent, and what strangers sent was refused."""
    answers = trial["answers"]
    assert isinstance(answers, dict)
    kinds = {answer.rpartition(" ")[0] for answer in answers["strangers"]}
    assert {"wrong key", "deep JSON", "idle connection"} <= {
        kind.removesuffix(" open at the") for kind in kinds
    }
    assert not [answer for answer in answers["strangers"] if answer.rpartition(" ")[2].startswith("2")]
    assert len(answers["member"]) >= 5
