"""`reinforge bisect` on stored evaluations, and with a job that repeats the steps in between."""

import json
import threading
from typing import Any

import pytest

from tests.backend.jobs.monitoring.test_group import group, send
from tests.backend.server import Backend, Trainer, wait_until
from tests.support.command_line import Cli

GOOD = {0: 0.7, 1: 0.7, 2: 0.75, 3: 0.4, 4: 0.4}


def play(trainer: Trainer, every: int) -> None:
    """Four steps; the held-out reward falls with the update of step 3."""
    trainer.start(0, 4)
    trainer.evaluate(0, GOOD[0])
    for step in range(1, 5):
        send(trainer, step, "train", [group(0, "a")])
        trainer.step(step)
        if step % every == 0:
            trainer.evaluate(step, GOOD[step])


@pytest.fixture(scope="module")
def job(backend: Backend) -> str:
    id = backend.create_job(limits={"steps": 4}, evaluation={"every_steps": 4})
    backend.register()
    trainer = backend.claim(id)
    play(trainer, 4)
    trainer.checkpoint(4, final=True)
    trainer.end("succeeded")
    return id


def test_it_is_as_fine_as_the_evaluations(job: str, run: Cli) -> None:
    printed = run("bisect", job, "--bad", "held_out<0.6")
    assert printed.code == 0, printed.err
    assert "held_out/reward_mean turned with an update of the steps 1 to 4" in printed.out
    assert "step 1, prompt 0, completion 0: reward 1.000, advantage 0.500" in printed.out
    assert "--rerun" in printed.err


def test_a_repeated_job_names_the_step(backend: Backend, job: str, run: Cli) -> None:
    def follow() -> None:
        query = "SELECT id FROM job WHERE name LIKE '%%bisect' AND status = 'queued'"
        [(id,)] = wait_until(lambda: backend.sql(query), "the repeated job", within=60)
        play(backend.claim(id), 1)

    worker = threading.Thread(target=follow)
    worker.start()
    printed = run("bisect", job, "--bad", "held_out<0.6", "--rerun", "--json")
    worker.join(60)
    assert printed.code == 0, printed.err
    answer: dict[str, Any] = json.loads(printed.out)
    assert (answer["updates"], answer["good"], answer["bad"]) == (
        [3, 3], {"step": 2, "value": 0.75}, {"step": 3, "value": 0.4},
    )  # fmt: skip
    assert answer["same_dice"] is True
    assert {row["step"] for row in answer["completions"]} == {3}
    spec = backend.job(answer["rerun"])["resolved_spec"]
    assert (spec["evaluation"]["every_steps"], spec["limits"]["steps"]) == (1, 4)
    assert backend.job(answer["rerun"])["status"] in ("cancelling", "cancelled")


@pytest.mark.parametrize(
    ("bad", "words"), [("none<1", "no metric none"), ("held_out>2", "never turned from good")]
)
def test_a_job_without_a_turn_is_refused(job: str, run: Cli, bad: str, words: str) -> None:
    printed = run("bisect", job, "--bad", bad)
    assert (printed.code, words in printed.err) == (2, True)
