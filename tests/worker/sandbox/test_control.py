"""The positive control: without the jail the corpus wins, so the tests that hold it are no empty gesture."""

import asyncio
import os
from typing import Any

import pytest

from worker.sandbox import CallOutcome
from worker.sandbox.calls import Call, score
from worker.sandbox.limits import Timeouts
from worker.sandbox.session import Session

from .corpus import ATTACKS, Attack, targets
from .jails import PlainProcess

WINS = {
    "001_tcp_connect_loopback", "002_udp_send_loopback", "010_read_etc_passwd", "011_read_host_canaries",
    "012_read_env", "027_exec_programs", "036_memory_hoard_kernel",
}  # fmt: skip
"""Attacks that do no lasting harm to the machine they win on."""


@pytest.mark.parametrize("path", [path for path in ATTACKS if path.stem in WINS], ids=lambda path: path.stem)
def test_an_attack_wins_in_a_plain_process(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RFT_CANARY", "secret-of-the-host")
    attack = Attack.read(path)
    with targets() as aims:
        item = aims.item("secret-of-the-host", os.getpid(), str(path))
        outcome = asyncio.run(_run_plain(attack, item))
        assert attack.verdict(outcome) == "succeeded", outcome
        assert attack.complaints(outcome)


def test_the_control_knows_its_attacks() -> None:
    assert {path.stem for path in ATTACKS} >= WINS


async def _run_plain(attack: Attack, item: dict[str, Any]) -> CallOutcome:
    rows = [{"prompt": "", "completion": text, "item": item} for text in ("fine", "ATTACK", "fine")]
    timeouts = Timeouts(load=5.0, sample=5.0, call=20.0)
    call = Call("score", attack.source, None, rows, [[0], [1], [2]], "sample", "batch", timeouts)
    session = await Session.start(PlainProcess())
    try:
        return await score(session, call, "plain")
    finally:
        await session.kill()
