"""The positive control: where a jail is missing or has a hole the corpus wins, so the tests that hold it are no empty
gesture."""

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from worker.sandbox.daemon.calls import ScoringCall, score
from worker.sandbox.daemon.session import JailDied, Session
from worker.sandbox.jails import Jail
from worker.sandbox.jails.prefix import ensure_prefix
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import RewardRow
from worker.sandbox.programs import ProgramCall, run_programs
from worker.sandbox.transport import frames

from .corpus import ATTACKS, NEXT, PLANTED, Attack, Targets, targets
from .harness import cannot, children
from .jails import FakeHost, WeakJail, WeakNamespaces, no_fake_host, without_filters, without_landlock
from .own_corpus import LIMITS, PROGRAM_ATTACKS, ProgramAttack

SECRET = "secret-of-the-host"
REWARDS = {path.stem[:3]: path for path in ATTACKS}
PROGRAMS = {path.stem[:3]: path for path in PROGRAM_ATTACKS}

PLAIN = [
    "001", "002", "005", "006", "007", "008", "010", "011", "012", "015", "016", "017", "020", "021", "022", "025",
    "027", "030", "031", "036", "304", "306", "307", "308", "309",
]  # fmt: skip
"""All that a jail holds off. The other attacks are on the reply, the deadlines and the limits, which are no jail's:
where those fail the corpus fails in every jail."""

FORK_BOMB = "025"
"""Without a jail it takes the machine for a minute from whatever runs beside it, whose deadlines pass: at night."""
NO_FILTERS = ["002", "006", "007", "008", "017", "020", "030", "031", "036", "307"]
"""What neither namespaces nor Landlock hold off without the system-call filters."""
NO_LANDLOCK = ["010", "011"]
"""What the filters alone do not hold off, of those that write nothing: this jail is not in a host of its own."""
HARMLESS = ["091", "301"]


class NoFilters(WeakNamespaces):
    """Jail N without its system-call filters."""

    def configuration(self) -> dict[str, Any]:
        configuration = WeakNamespaces.configuration(self)
        without_filters(configuration)
        return configuration


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RFT_CANARY", SECRET)
    # an attack that stops the zygote itself is found out when the zygote does not answer
    monkeypatch.setattr("worker.sandbox.daemon.session._GRACE_SECONDS", 1.0)


@pytest.mark.skipif(bool(no_fake_host()), reason=f"nowhere to let attacks win: {no_fake_host()}")
@pytest.mark.parametrize(
    "number",
    [pytest.param(number, marks=pytest.mark.long if number == FORK_BOMB else ()) for number in PLAIN],
)
def test_an_attack_wins_without_a_jail(number: str) -> None:
    with targets() as aims:
        assert traces(FakeHost(aims.folder), number, aims)


@pytest.mark.skipif(bool(no_fake_host()), reason=f"nowhere to let attacks win: {no_fake_host()}")
@pytest.mark.parametrize("number", HARMLESS)
def test_what_needs_no_jail_leaves_no_traces_without_one(number: str) -> None:
    with targets() as aims:
        assert traces(FakeHost(aims.folder), number, aims) == []


@pytest.mark.skipif(bool(cannot("N")), reason=f"jail N: {cannot('N')}")
@pytest.mark.parametrize("number", NO_FILTERS)
def test_an_attack_wins_in_namespaces_without_filters(number: str) -> None:
    with targets() as aims:
        assert traces(NoFilters(ensure_prefix()), number, aims)


@pytest.mark.skipif(bool(cannot("L")), reason=f"jail L: {cannot('L')}")
@pytest.mark.parametrize("number", NO_FILTERS)
def test_an_attack_wins_under_landlock_without_filters(number: str) -> None:
    with targets() as aims:
        assert traces(WeakJail(without_filters), number, aims)


@pytest.mark.skipif(bool(cannot("L")), reason=f"jail L: {cannot('L')}")
@pytest.mark.parametrize("number", NO_LANDLOCK)
def test_an_attack_wins_without_landlock(number: str) -> None:
    with targets() as aims:
        assert traces(WeakJail(without_landlock), number, aims)


def test_the_control_knows_its_attacks() -> None:
    assert {*PLAIN, *NO_FILTERS, *NO_LANDLOCK, *HARMLESS} <= {*REWARDS, *PROGRAMS}


def traces(jail: Jail, number: str, aims: Targets) -> list[str]:
    """What the tests of the corpus would complain of; nothing where the attack was held."""
    if number == "006" and not _has_vsock():
        pytest.skip("this kernel has no vsock to attack with")
    return asyncio.run(_attack(jail, number, aims))


async def _attack(jail: Jail, number: str, aims: Targets) -> list[str]:
    session = await Session.start(jail)
    try:
        before = len(_below(session.pid))
        complaints = await (_reward if number in REWARDS else _program)(session, number, aims)
        if left := len(_below(session.pid)) - before:
            complaints.append(f"{left} processes were left")
        (following,) = await _score(session, NEXT, [RewardRow("", "next", {"planted": PLANTED})])
        return complaints if following == 0.5 else [*complaints, f"the next call: {following}"]
    except JailDied as error:
        return [str(error)]
    finally:
        await session.kill()


async def _reward(session: Session, number: str, aims: Targets) -> list[str]:
    attack = Attack.read(REWARDS[number])
    call = _call(attack.source, attack.rows(aims.item(SECRET, os.getpid(), str(REWARDS[number]))))
    outcome = await score(session, call, "control", False)
    return attack.complaints(outcome) + aims.damage(outcome, SECRET)


async def _program(session: Session, number: str, aims: Targets) -> list[str]:
    attack = ProgramAttack.read(PROGRAMS[number])
    call = ProgramCall(attack.source, [attack.request()], LIMITS)
    (result,) = (await run_programs(session, call, "control", False)).results
    return attack.complaints(result, SECRET) + aims.damage(None, SECRET)


async def _score(session: Session, source: str, rows: Sequence[RewardRow]) -> list[float | None]:
    return [row.value for row in (await score(session, _call(source, rows), "control", False)).rows]


def _call(source: str, rows: Sequence[RewardRow]) -> ScoringCall:
    packed_rows = frames.pack_rows(rows)
    timeouts = Timeouts(load=5.0, sample=5.0, call=8.0)
    return ScoringCall(
        "score", source, None, packed_rows, [[i] for i in range(len(rows))], "sample", "batch", timeouts
    )


def _has_vsock() -> bool:
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def _below(pid: int) -> list[int]:
    """All processes that come from one."""
    return [pid for child in children(pid) for pid in (child, *_below(child))]
