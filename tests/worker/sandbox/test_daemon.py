"""The daemon as a process: its end, its jails' end, its peers, its recovery."""

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from worker.sandbox import CallOutcome, RewardRow, SandboxClient, Timeouts
from worker.sandbox.daemon import session
from worker.sandbox.daemon.calls import ScoringCall
from worker.sandbox.daemon.pool import CallTicket, FairQueue, Pool
from worker.sandbox.jails import LandlockJail
from worker.sandbox.jails.prefix import ensure_prefix
from worker.sandbox.transport import frames
from worker.sandbox.transport.tls import KeyFile

from .harness import (
    CONTROL,
    NORMAL_UID,
    REPOSITORY,
    STRONGEST,
    RunningDaemon,
    alive,
    ask,
    children,
    control_scores,
    eventually,
    frame,
    jails_of,
    kill_hard,
    running_daemon,
)  # fmt: skip

SLEEP = "import time\ndef grade(sample, item):\n    time.sleep(item)\n    return 0.5\n"
PATIENT = Timeouts(sample=60.0, call=120.0)


def in_background(
    client: SandboxClient, seconds: float, rows: int = 1
) -> tuple[threading.Thread, list[CallOutcome]]:
    outcomes: list[CallOutcome] = []

    def run() -> None:
        sleeping = [RewardRow("p", "c", seconds)] * rows  # type: ignore[arg-type]
        outcomes.append(client.score(SLEEP, sleeping, timeouts=PATIENT))

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcomes


def running_children(pids: list[int]) -> list[int]:
    return [child for jail in pids for child in children(jail)]


def test_status_names_the_proved_jail() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        status = client.status()
        assert (status.available, status.jail, status.reasons) == (True, STRONGEST, [])
        assert status.probe["uid"] != 0


def test_sigterm_while_clients_are_connected_leaves_no_traceback() -> None:
    """Idle connections and one that waits for an answer: all end with the daemon, which has nothing to report."""
    with running_daemon() as daemon, daemon.client() as client, daemon.client() as idle:
        idle.status()
        thread, _ = in_background(client, 30.0)
        eventually(lambda: running_children(jails_of(daemon)))
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(20) == 0
        thread.join()
        assert daemon.process.stderr is not None
        assert daemon.process.stderr.read() == ""


def test_the_status_command_asks_a_running_daemon(tmp_path: Path) -> None:
    """The health check of its container."""
    command = [sys.executable, "-m", "worker.sandbox", "status", "--socket"]
    with running_daemon() as daemon:
        done = subprocess.run([*command, str(daemon.socket)], capture_output=True, text=True, timeout=60)
        answer = json.loads(done.stdout)
        assert (done.returncode, answer["available"], answer["jail"]) == (0, True, STRONGEST)
    nobody = subprocess.run(
        [*command, str(tmp_path / "none.sock")], capture_output=True, text=True, timeout=60
    )
    assert nobody.returncode == 1 and json.loads(nobody.stdout)["available"] is False


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can give a file to another user")
def test_a_key_file_of_another_user_says_who_has_to_read_it(tmp_path: Path) -> None:
    """Compose mounts a secret with the host's owner and mode."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        KeyFile.create_if_missing(folder / "key")
        with running_daemon(user=NORMAL_UID) as other:
            python = Path(f"/proc/{other.process.pid}/cmdline").read_bytes().split(b"\0")[0].decode()
            environ = Path(f"/proc/{other.process.pid}/environ").read_bytes().decode().split("\0")
            done = subprocess.run(
                [python, "-m", "worker.sandbox", "--listen", "127.0.0.1:0", "--key-file", str(folder / "key")],
                env=dict(entry.split("=", 1) for entry in environ if "=" in entry), user=NORMAL_UID, group=NORMAL_UID,
                extra_groups=[], cwd="/", capture_output=True, text=True, timeout=60,
            )  # fmt: skip
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 2 and f"by uid {NORMAL_UID}" in done.stderr


def test_sigterm_ends_everything_and_removes_the_socket() -> None:
    with running_daemon(pool=2) as daemon, daemon.client() as client:
        thread, outcomes = in_background(client, 30.0)
        eventually(lambda: running_children(jails_of(daemon)))
        pids = jails_of(daemon) + running_children(jails_of(daemon))
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(20) == 0
        thread.join()
        assert outcomes[0].status == "sandbox_unavailable"
        assert not daemon.socket.exists()
        assert not [pid for pid in pids if alive(pid)]


def test_jails_and_their_children_die_with_a_killed_daemon() -> None:
    with running_daemon(pool=2) as daemon, daemon.client() as client:
        threads = [in_background(client, 30.0)[0] for _ in range(2)]
        eventually(lambda: len(running_children(jails_of(daemon))) == 2)
        pids = jails_of(daemon) + running_children(jails_of(daemon))
        assert len(pids) == 4
        kill_hard(daemon)
        eventually(lambda: not [pid for pid in pids if alive(pid)])
        for thread in threads:
            thread.join()


def test_a_daemon_starts_where_a_killed_one_left_its_socket(tmp_path: Path) -> None:
    left = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(left))
    command = [sys.executable, "-m", "worker.sandbox", "--socket", str(left), "--pool", "1"]
    with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert f"jail {STRONGEST} was proved to hold" in process.stderr.readline()
        second = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
        assert second.returncode == 1
        assert "already listens" in second.stderr
        assert stat.S_IMODE(left.stat().st_mode) == 0o600
        process.terminate()


def test_a_patient_client_retries_a_daemon_that_was_killed_and_restarted(tmp_path: Path) -> None:
    path = tmp_path / "s"
    command = [sys.executable, "-m", "worker.sandbox", "--socket", str(path), "--pool", "1"]
    outcomes: list[CallOutcome] = []

    def start() -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.DEVNULL)
        eventually(lambda: session_opens(path))
        return process

    with SandboxClient(path, patience=60.0) as client:
        first = start()
        rows = [RewardRow("p", "c", 2.0)]
        ask_it = threading.Thread(target=lambda: outcomes.append(client.score(SLEEP, rows, timeouts=PATIENT)))
        ask_it.start()
        eventually(lambda: any(running_children(children(pid)) for pid in [first.pid]))
        first.kill()
        first.wait()
        second = start()
        ask_it.join(60)
        second.terminate()
        second.wait(20)
    assert [(outcome.status, [row.value for row in outcome.rows]) for outcome in outcomes] == [("ok", [0.5])]


def session_opens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def test_a_path_that_is_too_long_is_refused() -> None:
    command = [sys.executable, "-m", "worker.sandbox", "--socket", "/tmp/" + "x" * 120]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 1
    assert "longer than 107 bytes" in done.stderr


def test_a_killed_jail_is_replaced_and_the_call_repeated() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        thread, outcomes = in_background(client, 1.0)
        eventually(lambda: running_children(jails_of(daemon)))
        (jail,) = [pid for pid in jails_of(daemon) if children(pid)]
        os.kill(jail, signal.SIGKILL)
        thread.join()
        assert [row.value for row in outcomes[0].rows] == [0.5]
        assert client.status().probe["failures"] == 1


def test_a_jail_that_dies_twice_is_our_error_and_no_rows() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        thread, outcomes = in_background(client, 30.0)
        for _ in range(2):  # not the jail of the probe that the first failure starts
            eventually(lambda: running_children(client.status().probe["jail_pids"]))
            (jail,) = client.status().probe["jail_pids"]
            os.kill(jail, signal.SIGKILL)
            eventually(lambda jail=jail: not alive(jail))
        thread.join()
        assert (outcomes[0].status, outcomes[0].rows) == ("sandbox_error", [])
        assert control_scores(client) == [0.5] * 3


def test_a_call_nobody_waits_for_frees_its_jail() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        with socket.socket(socket.AF_UNIX) as gone:
            gone.connect(str(daemon.socket))
            row = asdict(RewardRow("p", "c", 60.0))  # type: ignore[arg-type]
            request = {"op": "score", "source": SLEEP, "rows": [row], "timeouts": asdict(PATIENT)}
            gone.sendall(frame(request))
            eventually(lambda: running_children(jails_of(daemon)))
        eventually(lambda: not running_children(jails_of(daemon)))
        assert control_scores(client) == [0.5] * 3


def test_several_threads_share_a_client() -> None:
    with running_daemon(pool=2) as daemon, daemon.client() as client:
        threads = [in_background(client, 0.05, rows=20) for _ in range(6)]
        for thread, outcomes in threads:
            thread.join()
            assert [row.value for row in outcomes[0].rows] == [0.5] * 20


def test_a_client_survives_a_restart_of_the_daemon(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "worker.sandbox", "--socket", str(tmp_path / "s"), "--pool", "1"]
    with SandboxClient(tmp_path / "s") as client:
        for _ in range(2):
            with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as process:
                assert process.stderr is not None
                assert "proved" in process.stderr.readline()
                assert control_scores(client) == [0.5] * 3
                process.terminate()


def test_no_descriptor_or_process_is_left_by_many_calls() -> None:
    with running_daemon() as daemon, daemon.client() as client:
        source = "import os\ndef grade(sample, item): return os._exit(1) if item else 0.5\n"
        rows = [RewardRow("p", "c", i % 4 == 1) for i in range(16)]  # type: ignore[arg-type]
        client.score(source, rows)
        (jail,) = jails_of(daemon)
        watched = [
            Path(f"/proc/{pid}/fd") for pid in (daemon.pid, jail) if os.access(f"/proc/{pid}/fd", os.R_OK)
        ]
        before = [len(list(folder.iterdir())) for folder in watched]  # it may still be closing a few
        for _ in range(15):
            client.score(source, rows)
        assert jails_of(daemon) == [jail]
        assert all(len(list(f.iterdir())) <= count for f, count in zip(watched, before, strict=True))
        assert children(jail) == []


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "format the disk"},
        {"op": "score", "source": 3, "rows": [{}]},
        {"op": "score", "source": CONTROL, "rows": []},
        {"op": "score", "source": CONTROL, "rows": [{}], "isolate": "none"},
        {"op": "score", "source": CONTROL, "rows": [{}], "granularity": "all"},
        {"op": "score", "source": CONTROL, "rows": [{}], "timeouts": {"call": 1e9}},
        {"op": "score", "source": CONTROL, "rows": [{}], "timeouts": {"jail": False}},
        {"op": "score", "source": CONTROL, "rows": [{}] * 1025},
        {"op": "score", "source": CONTROL},
        {"op": "score", "source": CONTROL, "rows": [{}] * 2, "granularity": "group"},
        {"op": "score", "source": CONTROL, "rows": [{}] * 2, "granularity": "group", "units": [[0], [0]]},
        {"op": "score", "source": CONTROL, "rows": [{}] * 2, "granularity": "group", "units": [[0, 1], []]},
        {"op": "score", "source": CONTROL, "rows": [{}] * 2, "granularity": "group", "units": [[0, "1"]]},
    ],
)
def test_a_request_that_makes_no_sense_is_answered_with_an_error(
    daemon: RunningDaemon, client: SandboxClient, request_: dict[str, object]
) -> None:
    assert set(ask(daemon.socket, {**request_, "id": 7})) == {"id", "error"}
    assert control_scores(client) == [0.5] * 3


def test_garbage_on_the_socket_ends_that_connection_only(
    daemon: RunningDaemon, client: SandboxClient
) -> None:
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0[]"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(daemon.socket))
            connection.sendall(garbage)
            assert connection.recv(1) == b""
    assert control_scores(client) == [0.5] * 3


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to speak as another user")
def test_another_user_is_not_served() -> None:
    with running_daemon() as daemon:
        daemon.socket.parent.chmod(0o755)
        daemon.socket.chmod(0o666)
        check = (
            "import os, socket, sys\nsocket_ = socket.socket(socket.AF_UNIX)\nsocket_.connect(sys.argv[1])\n"
            f"os.setgid({NORMAL_UID}); os.setuid({NORMAL_UID})\n"
            "other = socket.socket(socket.AF_UNIX); other.connect(sys.argv[1]); print(repr(other.recv(1)))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", check, str(daemon.socket)], capture_output=True, text=True
        )
        assert done.stdout.strip() == "b''", done.stderr


def test_waiting_calls_are_taken_from_each_peer_in_turn() -> None:
    async def order() -> list[int]:
        line, tickets = FairQueue(), [CallTicket(None) for _ in range(7)]  # type: ignore[arg-type]
        for number, peer in enumerate((1, 1, 1, 1, 2, 2, 3)):
            line.put(peer, tickets[number])
        return [tickets.index(await line.get()) for _ in tickets]

    assert asyncio.run(order()) == [0, 4, 6, 1, 5, 2, 3]


def test_slow_calls_of_one_process_do_not_hold_every_jail() -> None:
    async def served() -> list[str]:
        pool = Pool(LandlockJail(ensure_prefix()), 2)
        rows = frames.pack_rows([RewardRow("p", "c", 60.0)])  # type: ignore[arg-type]
        slow = {"op": "score", "source": SLEEP, "count": 1}
        fast = {"op": "score", "source": "def grade(sample, item):\n    return 0.5\n", "count": 1}
        hogs = [CallTicket(ScoringCall.from_request(slow, rows)) for _ in range(4)]
        for ticket in hogs:
            pool.submit(1, ticket)
        while sum(ticket.running is not None for ticket in hogs) < 2:
            await asyncio.sleep(0.01)
        statuses = []
        for _ in range(4):
            ticket = CallTicket(ScoringCall.from_request(fast, rows))
            pool.submit(2, ticket)
            statuses.append((await asyncio.wait_for(ticket.answer, 30)).status)
        statuses.append(f"{sum(ticket.running is not None for ticket in hogs)} of the slow ones run")
        await pool.close()
        return statuses

    assert asyncio.run(served()) == ["ok"] * 4 + ["2 of the slow ones run"]


def test_a_closed_pool_answers_what_waits_and_what_runs() -> None:
    async def statuses() -> list[str]:
        pool = Pool(LandlockJail(ensure_prefix()), 1)
        request = {"op": "score", "source": SLEEP, "count": 1}
        rows = frames.pack_rows([RewardRow("p", "c", 30.0)])  # type: ignore[arg-type]
        tickets = [CallTicket(ScoringCall.from_request(request, rows)) for _ in range(2)]
        for ticket in tickets:
            pool.submit(1, ticket)
        while not (pool.pids() and children(pool.pids()[0])):
            await asyncio.sleep(0.01)
        await pool.close()
        return [(await ticket.answer).status for ticket in tickets]

    assert asyncio.run(statuses()) == ["sandbox_error", "sandbox_error"]


def test_a_jail_is_replaced_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pids(calls: int) -> list[int]:
        pool = Pool(LandlockJail(ensure_prefix()), 1)
        pids = []
        for _ in range(calls):
            ticket = CallTicket(ScoringCall.from_request({"op": "validate", "source": CONTROL}))
            pool.submit(1, ticket)
            assert (await ticket.answer).status == "ok"
            pids += pool.pids()
        await pool.close()
        return pids

    monkeypatch.setattr(session, "JAIL_CALLS", 2)
    first, second, third, fourth = asyncio.run(pids(4))
    assert first == second != third == fourth
