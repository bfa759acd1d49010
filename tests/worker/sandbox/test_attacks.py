"""Every attack of the corpus is held in each jail, as root (the jail drops to a user of its own) and as a normal user
(the jail has the daemon's own user)."""

import os
from collections.abc import Iterator

import pytest

from worker.sandbox import RewardRow
from worker.sandbox.jails.prefix import ensure_prefix

from .corpus import ATTACKS, NEXT, PLANTED, Attack, Targets, targets
from .harness import (
    JAILS,
    STRONGEST,
    RunningDaemon,
    children,
    control_scores,
    eventually,
    jails_of,
    running_daemon,
)


@pytest.fixture(scope="module", params=JAILS)
def attacked(request: pytest.FixtureRequest, user: int | None) -> Iterator[tuple[RunningDaemon, Targets]]:
    with running_daemon(jail=request.param, user=user) as daemon, targets(user) as aims:
        assert daemon.announced == f"sandboxd: code rewards are on: jail {request.param} was proved to hold"
        yield daemon, aims


@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_attack_is_held(path: os.PathLike[str], attacked: tuple[RunningDaemon, Targets]) -> None:
    daemon, aims = attacked
    attack = Attack.read(path)  # type: ignore[arg-type]
    runner = str(ensure_prefix().program / "jailed" / "zygote.py")
    with daemon.client() as client:
        outcome = attack.run(client, aims.item(daemon.secret, daemon.pid, runner))
        assert attack.complaints(outcome) == []
        assert aims.damage(outcome, daemon.secret) == []
        assert control_scores(client) == [0.5, 0.5, 0.5]
        following = client.score(NEXT, [RewardRow("", "next", {"planted": PLANTED})])
        assert [row.value for row in following.rows] == [0.5], following
    eventually(lambda: not [child for jail in jails_of(daemon) for child in children(jail)])


def test_this_machine_has_a_jail() -> None:
    assert STRONGEST in ("N", "L"), "neither jail can be had here, so none of the attacks was tried"


def test_the_corpus_is_whole() -> None:
    assert len(ATTACKS) == 64
    assert {Attack.read(path).style for path in ATTACKS} == {"sample", "batch", "module"}


@pytest.mark.parametrize(
    "name", ["071_forge_shared_memory", "072_garbage_shared_memory", "086_thread_writes_after_return"]
)
def test_isolated_rows_cannot_even_lie_about_their_neighbours(
    name: str, attacked: tuple[RunningDaemon, Targets]
) -> None:
    daemon, aims = attacked
    (attack,) = [Attack.read(path) for path in ATTACKS if path.stem == name]
    with daemon.client() as client:
        outcome = attack.run(client, aims.item(daemon.secret, daemon.pid, ""), isolate="sample")
    assert attack.verdict(outcome) in attack.accept
    assert [outcome.rows[0].value, outcome.rows[2].value] == [0.5, 0.5]
