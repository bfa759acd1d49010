"""A call goes on whatever a row does: who is blamed, what the neighbours keep, how calls are divided."""

import time
from dataclasses import asdict

import pytest

from worker.sandbox import CallOutcome, RewardRow, SandboxClient, Timeouts

from .harness import RunningDaemon, ask, eventually

FAST = Timeouts(load=5.0, sample=0.3, call=20.0)

HOSTILE = """
import ctypes, os, resource, signal, time

def grade(sample, item):
    text = sample["output_text"]
    if text == "crash": ctypes.string_at(0)
    if text == "exit": os._exit(0)
    if text == "raise": raise RuntimeError("no")
    if text == "quit": raise SystemExit(0)
    if text == "sleep": time.sleep(100)
    if text == "memory": bytearray(1 << 40)
    if text == "flood":
        while True: print("x" * 100000)
    if text == "cpu": os.kill(os.getpid(), signal.SIGXCPU)
    if text == "later": signal.setitimer(signal.ITIMER_REAL, 0.01)
    if text == "bad": return "1"
    return 0.5
"""

STATUSES = {
    "crash": "crashed", "exit": "exited", "raise": "exception", "quit": "exception", "sleep": "timeout",
    "memory": "memory", "flood": "output_flood", "cpu": "cpu_limit", "bad": "bad_value",
}  # fmt: skip


def score(client: SandboxClient, *texts: str, **options: object) -> CallOutcome:
    rows = [RewardRow("p", text) for text in texts]
    return client.score(HOSTILE, rows, timeouts=FAST, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("isolate", ["batch", "sample"])
@pytest.mark.parametrize("text", STATUSES)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_hostile_row_changes_no_other_wherever_it_stands(
    client: SandboxClient, text: str, position: int, isolate: str
) -> None:
    texts = ["fine", "fine"]
    texts.insert(position, text)
    rows = score(client, *texts, isolate=isolate).rows
    hostile = rows.pop(position)
    assert (hostile.status, hostile.value) == (STATUSES[text], None)
    assert [(row.status, row.value) for row in rows] == [("ok", 0.5), ("ok", 0.5)]


def test_every_failure_says_what_happened(client: SandboxClient) -> None:
    rows = score(client, *STATUSES).rows
    messages = {text: row.message or "" for text, row in zip(STATUSES, rows, strict=True)}
    assert (
        "SIGSEGV" in messages["crash"]
        and "code 0" in messages["exit"]
        and "longer than 0.3 s" in messages["sleep"]
    )
    assert (
        "RuntimeError: no" in messages["raise"]
        and "MemoryError" in messages["memory"]
        and "8 MiB" in messages["flood"]
    )
    assert "CPU" in messages["cpu"]


def test_a_row_is_tried_alone_before_it_is_blamed(client: SandboxClient) -> None:
    """Two rows share a process; the second fails only because of what the first left behind."""
    source = """
import os
seen = []
def grade(sample, item):
    seen.append(1)
    if len(seen) > 1:
        os.abort()
    return 0.5
"""
    rows = client.score(source, [RewardRow("p", "c")] * 4).rows
    assert [(row.status, row.value) for row in rows] == [("ok", 0.5)] * 4


def test_isolate_sample_gives_every_row_a_module_of_its_own(client: SandboxClient) -> None:
    source = "seen = []\ndef grade(sample, item):\n    seen.append(1)\n    return len(seen)\n"
    rows = [RewardRow("p", "c")] * 3
    assert [row.value for row in client.score(source, rows).rows] == [1.0, 2.0, 3.0]
    assert [row.value for row in client.score(source, rows, isolate="sample").rows] == [1.0, 1.0, 1.0]


def test_nothing_survives_between_calls(client: SandboxClient) -> None:
    source = """
import json, os, sys
def grade(sample, item):
    known = hasattr(json, "mark"); json.mark = True
    return float(known or "MARK" in os.environ or bool(os.environ.update(MARK="1")))
"""
    assert [client.score(source, [RewardRow("p", "c")]).rows[0].value for _ in range(4)] == [0.0] * 4


def test_a_group_is_scored_together_and_never_divided(client: SandboxClient) -> None:
    source = "def f(prompts, completions, **kw): return [len(completions)] * len(completions)"
    groups = ["a"] * 3 + ["b"] * 14 + ["c"] * 40 + ["a"] * 2
    rows = [RewardRow("p", "c", group=group) for group in groups]
    values = [row.value for row in client.score(source, rows, granularity="group").rows]
    assert values == [5.0] * 3 + [14.0] * 14 + [40.0] * 40 + [5.0] * 2


def test_a_lost_group_costs_that_group(client: SandboxClient) -> None:
    source = """
import os
def f(prompts, completions, **kw):
    if "exit" in completions: os._exit(1)
    return [1.0] * len(completions)
"""
    rows = [RewardRow("p", text, group=text[0]) for text in ("a", "exit", "a", "e", "c")]
    outcome = client.score(source, rows, granularity="group")
    assert [row.status for row in outcome.rows] == ["ok", "exited", "ok", "exited", "ok"]


def test_batch_granularity_sees_at_most_sixteen_rows(client: SandboxClient) -> None:
    source = "def f(prompts, completions, **kw): return [len(completions)] * len(completions)"
    values = [row.value for row in client.score(source, [RewardRow("p", "c")] * 37, granularity="batch").rows]
    assert values == [16.0] * 32 + [5.0] * 5


def test_results_come_back_in_the_order_of_the_rows(client: SandboxClient) -> None:
    source = "def grade(sample, item): return item['i']"
    rows = [RewardRow("p", "c", {"i": i}) for i in range(150)]
    assert [row.value for row in client.score(source, rows).rows] == [float(i) for i in range(150)]


def test_rows_behind_a_slow_one_are_scored_in_a_fresh_call(client: SandboxClient) -> None:
    """The first call ends by its deadline; the rows it did not reach are not lost."""
    source = """
import time
def grade(sample, item):
    time.sleep(item["s"])
    return 1.0
"""
    rows = [RewardRow("p", "c", {"s": 0.7})] * 2 + [RewardRow("p", "c", {"s": 0.0})] * 3
    outcome = client.score(source, rows, timeouts=Timeouts(sample=5.0, call=1.0))
    assert [row.status for row in outcome.rows] == ["ok"] * 5


def test_a_row_that_is_always_late_stays_a_deadline(client: SandboxClient) -> None:
    source = "import time\ndef grade(sample, item):\n    time.sleep(100)\n"
    (row,) = client.score(source, [RewardRow("p", "c")], timeouts=Timeouts(sample=5.0, call=0.3)).rows
    assert (row.status, row.value) == ("deadline", None)


def test_too_many_casualties_end_a_call_and_the_rest_is_skipped(daemon: RunningDaemon) -> None:
    source = "import os\ndef grade(sample, item): os._exit(1)\n"
    rows = [asdict(RewardRow("p", "c"))] * 20
    answer = ask(daemon.socket, {"op": "score", "source": source, "rows": rows})
    assert [row[0] for row in answer["rows"]] == ["exited"] * 8 + ["skipped"] * 12


def test_skipped_rows_are_scored_in_a_fresh_call(client: SandboxClient) -> None:
    source = "import os\ndef grade(sample, item): return os._exit(1) if sample['output_text'] == 'x' else 1\n"
    rows = [RewardRow("p", "x")] * 8 + [RewardRow("p", "c")] * 8
    outcome = client.score(source, rows)
    assert [row.status for row in outcome.rows] == ["exited"] * 8 + ["ok"] * 8


def test_a_hanging_unit_of_many_rows_has_their_budgets_together(client: SandboxClient) -> None:
    source = (
        "import time\ndef f(prompts, completions):\n    time.sleep(0.5)\n    return [1] * len(completions)\n"
    )
    outcome = client.score(source, [RewardRow("p", "c")] * 4, granularity="batch", timeouts=FAST)
    assert [row.status for row in outcome.rows] == ["ok"] * 4


def test_a_cpu_limit_ends_a_row_before_its_wall_time(client: SandboxClient) -> None:
    source = "def grade(sample, item):\n    while sample['output_text'] == 'loop': pass\n    return 1\n"
    rows = [RewardRow("p", "loop"), RewardRow("p", "c")]
    began = time.monotonic()
    outcome = client.score(source, rows, timeouts=Timeouts(sample=60.0, call=120.0, cpu=1.0))
    assert [row.status for row in outcome.rows] == ["cpu_limit", "ok"]
    assert time.monotonic() - began < 60.0


def test_no_rows_need_no_call(client: SandboxClient) -> None:
    assert client.score("not python", []) == CallOutcome("ok")


@pytest.mark.parametrize(
    "timeouts", [{"sample": 0}, {"sample": 61}, {"call": 121}, {"load": -1}, {"cpu": float("nan")}]
)
def test_timeouts_have_caps(timeouts: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        Timeouts(**timeouts)


def test_what_belongs_together_but_is_too_large_is_refused(client: SandboxClient) -> None:
    rows = [RewardRow("p", "x" * (20 << 20), group=1)] * 2
    with pytest.raises(ValueError, match="scored together"):
        client.score(HOSTILE, rows, granularity="group")


def test_a_large_row_arrives_whole(client: SandboxClient) -> None:
    rows = [RewardRow("p", "x" * (6 << 20))] * 4
    outcome = client.score("def grade(sample, item): return len(sample['output_text']) / 2**20", rows)
    assert [row.value for row in outcome.rows] == [6.0] * 4


def test_a_row_cannot_edit_the_request_for_the_process_behind_it(client: SandboxClient) -> None:
    source = """
import os, sys
def grade(sample, item):
    if sample["output_text"] == "edit":
        frame, edited = sys._getframe(), 0
        while frame:
            for value in list(frame.f_locals.values()):
                body = getattr(value, "body", None)
                at = bytes(body).rfind(b"honest") if isinstance(body, memoryview) and not edited else -1
                if at >= 0:
                    body[at : at + 6] = b"forged"
                    edited += 1
            frame = frame.f_back
        os._exit(edited)
    return float(sample["output_text"] == "honest")
"""
    rows = client.score(source, [RewardRow("p", "edit"), RewardRow("p", "honest")]).rows
    assert (rows[0].message or "").endswith("code 1")
    assert rows[1].value == 1.0


def test_a_reward_that_proved_fast_is_charged_fewer_processes(client: SandboxClient) -> None:
    source = "def grade(sample, item):\n    calls.append(1)\n    return len(calls)\ncalls = []\n"
    rows = [RewardRow("p", str(i)) for i in range(100)]
    first = [row.value for row in client.score(source, rows).rows]
    assert first[:17] == [*range(1, 17), 1], "an unknown reward begins with a call of 16 rows"
    # one call, as soon as the machine lets the reward be as fast as it is
    eventually(lambda: [row.value for row in client.score(source, rows).rows] == list(range(1, 101)))


def test_a_slow_reward_keeps_small_calls(client: SandboxClient) -> None:
    source = (
        "import time\ncalls = []\n"
        "def grade(sample, item):\n    time.sleep(0.02)\n    calls.append(1)\n    return len(calls)\n"
    )
    rows = [RewardRow("p", str(i)) for i in range(20)]
    for _ in range(2):
        assert max(row.value or 0 for row in client.score(source, rows).rows) <= 16


def test_a_reward_measured_as_fast_is_divided_evenly(client: SandboxClient) -> None:
    source = "def grade(sample, item):\n    calls.append(1)\n    return len(calls)\ncalls = []\n"
    rows, expected = [RewardRow("p", "c")] * 300, [*range(1, 151), *range(1, 151)]
    eventually(lambda: [row.value for row in client.score(source, rows).rows] == expected)
