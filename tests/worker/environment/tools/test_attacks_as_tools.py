"""Every attack of the corpora is held as a tool too: neighbours are right, nothing leaks, the next call is right."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reinforge.tools import CALL_STATUSES
from tests.worker.sandbox.corpus import ATTACKS, NEXT, PLANTED, Attack, targets
from tests.worker.sandbox.harness import RunningDaemon, control_scores
from tests.worker.sandbox.own_corpus import REPLY_ATTACKS
from worker.environment.tools.base import PythonSource
from worker.environment.tools.jailed import result_of, send
from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.jails.prefix import ensure_prefix

_TOOL = "\n_attack = {name}\ndef tool(text: str, item) -> float:\n    return {call}\n"
_WRAP = {
    "sample": _TOOL.format(name="grade", call="_attack(text, item)"),
    "batch": _TOOL.format(name="grade", call="_attack([text], [item])"),
    "module": _TOOL.format(name="grade", call='_attack({"output_text": text}, item)'),
    "reply": _TOOL.format(name="attack", call='_attack(item) if text == "ATTACK" else 0.5'),
}
_WHOLE = [*ATTACKS, *REPLY_ATTACKS]
_PARTS = 8


def complaints(path: Path, client: SandboxClient, item: dict[str, object]) -> list[str]:
    attack = Attack.read(path)
    reply = path in REPLY_ATTACKS
    source = path.read_text() + _WRAP["reply" if reply and attack.style == "sample" else attack.style]
    calls = [
        {"kind": "call", "class": None, "name": "tool", "arguments": {"text": text}, "item": item, "state": None,
         "history": [], "seed": "1", "most": 4000}
        for text in ("fine", "ATTACK", "fine")
    ]  # fmt: skip
    rows = send(client, PythonSource("attack.py", source, timeout_seconds=0.4), calls, "tool")
    results = [result_of(row, "tool", None, 0.4) for row in rows]
    wrong = [
        str(result) for result in results if result.status not in CALL_STATUSES or len(result.text) > 4000
    ]
    if (
        attack.loads
        and attack.neighbours == "ok"
        and any(r.text not in ("0.5", "[0.5]") for r in results[::2])
    ):
        wrong.append(f"{attack.name}: a neighbour was changed: {results}")
    succeeded = results[1].status == "ok" and results[1].text == "1.0"
    if succeeded and not reply and attack.name != "091_return_string":  # a text is what a tool returns
        wrong.append(f"{attack.name} succeeded")
    return wrong


@pytest.mark.parametrize("part", range(_PARTS))
def test_attacks_are_held(part: int, tool_daemon: RunningDaemon) -> None:
    runner = str(ensure_prefix().program / "jailed" / "zygote.py")
    with tool_daemon.client() as client, targets() as aims, ThreadPoolExecutor(2) as threads:
        item = aims.item(tool_daemon.secret, tool_daemon.pid, runner)
        columns = threads.map(lambda path: complaints(path, client, item), _WHOLE[part::_PARTS])
        wrong = [complaint for column in columns for complaint in column]
        assert wrong == []
        assert aims.damage(None, tool_daemon.secret) == []
        assert control_scores(client) == [0.5, 0.5, 0.5]
        following = client.score(NEXT, [RewardRow("", "next", {"planted": PLANTED})])
        assert [row.value for row in following.rows] == [0.5]


def test_the_corpus_is_whole() -> None:
    assert len(_WHOLE) == 64 + 40
