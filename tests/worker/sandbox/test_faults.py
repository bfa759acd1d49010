"""Faults at random moments: jails, daemon and clients are killed, peers do not read. Nobody gets a wrong answer."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from worker.sandbox import ProgramLimits, ProgramRun, RewardRow, Timeouts
from worker.sandbox.daemon.peers import Listener
from worker.sandbox.jails.namespaces import RunningInNamespaces
from worker.sandbox.transport import frames

from .harness import (
    REPOSITORY,
    alive,
    children,
    control_scores,
    eventually,
    jails_of,
    kill_hard,
    running_daemon,
)

ECHO = (
    "import time\ndef grade(sample, item):\n    time.sleep(0.002)\n    return float(sample['output_text'])\n"
)
SLEEPS = "import time\ndef grade(sample, item):\n    time.sleep(30)\n"
LONG = Timeouts(sample=40.0, call=60.0)

CLIENT = """
import sys
from worker.sandbox import ProgramLimits, ProgramRun, SandboxClient
with SandboxClient(sys.argv[1]) as client:
    print("running", flush=True)
    client.run_programs("import time\\ntime.sleep(25)", [ProgramRun()] * 4, ProgramLimits(wall=30))
"""


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_jails_killed_at_random_moments_cost_no_answer() -> None:
    chance, done = random.Random(7), threading.Event()
    wrong: list[object] = []
    with running_daemon(pool=2) as daemon, daemon.client() as client:
        assert client.score(ECHO, [RewardRow("", "1")] * 32).status == "ok"
        before = descriptors(daemon.pid)

        def score() -> None:
            while not done.is_set():
                texts = [str(chance.randrange(1000)) for _ in range(24)]
                outcome = client.score(ECHO, [RewardRow("", text) for text in texts])
                ran = client.run_programs("print(input())", [ProgramRun(text) for text in texts[:3]])
                if outcome.status == "ok":
                    if [row.value for row in outcome.rows] != [float(text) for text in texts]:
                        wrong.append(outcome)
                elif outcome.status != "sandbox_error":
                    wrong.append(outcome)
                if ran.status == "ok" and [r.output.strip() for r in ran.results] != texts[:3]:
                    wrong.append(ran)

        thread = threading.Thread(target=score)
        thread.start()
        killed: set[int] = set()
        for _ in range(8):
            eventually(lambda: set(client.status().probe["jail_pids"]) - killed)
            fresh = sorted(set(client.status().probe["jail_pids"]) - killed)
            done.wait(chance.random() / 20)  # somewhere in the middle of a call
            for pid in fresh[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        done.set()
        thread.join(60)
        assert not thread.is_alive() and wrong == []
        eventually(lambda: control_scores(client) == [0.5, 0.5, 0.5])
        eventually(lambda: not any(alive(pid) for pid in killed))
        eventually(lambda: descriptors(daemon.pid) <= before + 4)


def test_a_daemon_killed_in_the_middle_leaves_no_process_and_an_answer() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        jails = jails_of(daemon)
        answers: list[str] = []
        thread = threading.Thread(
            target=lambda: answers.append(client.score(SLEEPS, [RewardRow("", "")], timeouts=LONG).status)
        )
        thread.start()
        eventually(lambda: [c for jail in client.status().probe["jail_pids"] for c in children(jail)])
        jails += client.status().probe["jail_pids"]
        kill_hard(daemon)
        thread.join(30)
        assert answers == ["sandbox_unavailable"]
        eventually(lambda: not any(alive(jail) for jail in jails))


def test_a_client_killed_in_the_middle_gives_its_jail_back() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        other = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(daemon.socket)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert other.stdout is not None and other.stdout.readline() == "running\n"
        eventually(lambda: [c for jail in client.status().probe["jail_pids"] for c in children(jail)])
        other.kill()
        other.wait()
        other.stdout.close()
        assert control_scores(client) == [0.5, 0.5, 0.5]  # in time, though the jail is the only one
        eventually(lambda: not [c for jail in client.status().probe["jail_pids"] for c in children(jail)])


def test_a_peer_that_never_reads_holds_up_nobody_else() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        source = "def grade(sample, item): print('x' * 2000); return {'score': 1, 'reason': 'y' * 900}"
        head = {"op": "score", "source": source, "count": 64, "granularity": "sample", "isolate": "batch"}
        rows = frames.pack_rows([RewardRow("", "x")] * 64)
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.connect(str(daemon.socket))
            deaf.setblocking(False)
            try:
                for number in range(40):
                    deaf.sendall(frames.encode({**head, "id": number}, rows))
            except BlockingIOError:
                pass
            assert control_scores(client) == [0.5, 0.5, 0.5]
        assert control_scores(client) == [0.5, 0.5, 0.5]


def test_a_program_that_neither_reads_nor_ends_is_stopped_beside_full_pipes() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        full = "import os\nos.write(1, b'x' * 60000)\nwhile True: pass"
        run = ProgramRun(stdin="y" * 3_000_000)
        outcome = client.run_programs(full, [run], ProgramLimits(wall=0.3))
        assert [result.status for result in outcome.results] == ["timeout"]
        assert len(outcome.results[0].output) == 60000
        assert control_scores(client) == [0.5, 0.5, 0.5]


def test_a_jail_whose_first_process_has_just_died_is_ended_like_any_other() -> None:
    read_end, tells = os.pipe()
    os.close(tells)
    died = subprocess.Popen(["true"])
    outside = subprocess.Popen(["sleep", "60"], stderr=subprocess.PIPE)
    running = RunningInNamespaces(outside, read_end)
    running._init = os.pidfd_open(died.pid)
    died.wait()
    running.kill()
    running.wait()
    assert outside.returncode == -signal.SIGKILL


def test_a_fault_of_the_daemon_closes_the_connection(tmp_path: Path) -> None:
    async def broken(request: object, body: bytes, peer: object) -> frames.Packed:
        raise ProcessLookupError("a fault of ours")

    async def ask() -> bytes:
        listener = Listener(broken)
        await listener.open_unix(tmp_path / "s")
        reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
        writer.write(frames.encode({"id": 1, "op": "status"}))
        content = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        await listener.close()
        return content

    assert asyncio.run(ask()) == b""
