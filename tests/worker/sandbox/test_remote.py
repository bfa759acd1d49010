"""A sandbox on another machine: the same answers over TCP, for those who hold the token and for nobody else."""

import contextlib
import hmac
import secrets
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.__main__ import main
from worker.sandbox.transport import frames, remote
from worker.sandbox.transport.remote import Address, Challenge, RemoteError, admit, introduce

from .harness import (
    CONTROL,
    STRONGEST,
    RunningDaemon,
    children,
    control_scores,
    eventually,
    jails_of,
    running_daemon,
)

TOKEN = secrets.token_hex(16)
ROWS = [RewardRow("p", "c")] * 3


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[RunningDaemon, int]]:
    with running_daemon(token=TOKEN) as daemon:
        assert daemon.announced == f"sandboxd: jail {STRONGEST} proved"
        yield daemon, daemon.port()


def client(port: int, token: str | None = TOKEN) -> SandboxClient:
    return SandboxClient(f"tcp://127.0.0.1:{port}", token)


def test_the_same_answers_as_on_the_same_machine(served: tuple[RunningDaemon, int]) -> None:
    daemon, port = served
    source = "def grade(sample, item): return {'score': len(sample['output_text']), 'parts': {'a': 1}, 'reason': 'é'}"
    rows = [RewardRow("p", "x" * n, {"n": n}) for n in range(1, 200)]
    with daemon.client() as near, client(port) as far:
        answers = [client.score(source, rows) for client in (near, far)]
        assert len(answers[0].rows) == 199
        timeless = [[replace(row, wall_ms=0, cpu_ms=0) for row in answer.rows] for answer in answers]
        assert timeless[0] == timeless[1]
        assert far.validate(source).entries == near.validate(source).entries
        assert far.status().jail == near.status().jail == answers[1].jail == STRONGEST


@pytest.mark.parametrize(
    "token",
    ["0" * 32, "", None, TOKEN[:-1], TOKEN + "x"],
    ids=["another", "empty", "none", "shorter", "longer"],
)
def test_a_wrong_token_is_refused_by_name(served: tuple[RunningDaemon, int], token: str | None) -> None:
    with client(served[1], token) as far:
        outcome = far.score(CONTROL, ROWS)
        assert (outcome.status, outcome.rows) == ("sandbox_unavailable", [])
        assert "does not accept this token" in (outcome.message or "")
        assert not far.status().available
    assert control_scores(served[0].client()) == [0.5] * 3


def test_the_token_never_crosses_the_wire_and_a_record_cannot_be_replayed() -> None:
    nonce = secrets.token_bytes(remote.NONCE)
    challenge, answer = introduce(TOKEN, remote.GREETING + nonce)
    assert TOKEN.encode() not in answer
    assert admit(TOKEN, nonce, answer)[0].proof("daemon") == challenge.proof("daemon")
    with pytest.raises(RemoteError):
        admit(TOKEN, secrets.token_bytes(remote.NONCE), answer)
    assert challenge.proof("client") != challenge.proof("daemon"), "a proof cannot be sent back"


def test_frames_cannot_be_changed_repeated_or_left_out() -> None:
    challenge = Challenge(TOKEN, b"d" * remote.NONCE, b"c" * remote.NONCE, b"p" * remote.PROCESS)

    def tags() -> list[bytes]:
        seal = challenge.seal("client")
        return [seal.tag(frame) for frame in (b"one", b"two")]

    one, two = tags()
    challenge.seal("client").check(one, b"on", b"e")
    for tag, frame in ((one, b"onE"), (two, b"two"), (challenge.seal("daemon").tag(b"one"), b"one")):
        with pytest.raises(RemoteError):
            challenge.seal("client").check(tag, frame)
    seal = challenge.seal("client")
    seal.check(one, b"one")
    with pytest.raises(RemoteError):
        seal.check(one, b"one")


def _joined(port: int) -> tuple[socket.socket, Challenge]:
    connection = socket.create_connection(("127.0.0.1", port), 20)
    challenge, answer = introduce(TOKEN, _read(connection, remote.GREETING_BYTES))
    connection.sendall(answer)
    assert hmac.compare_digest(_read(connection, remote.TAG), challenge.proof("daemon"))
    return connection, challenge


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (part := connection.recv(size - len(data))):
        data += part
    return data


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n" + b"\n" * 100,
        b"\0" * remote.ANSWER_BYTES,
        b"\xff" * (1 << 16),
    ],
    ids=["http", "zeros", "ones"],
)
def test_strangers_hear_a_greeting_and_nothing_else(served: tuple[RunningDaemon, int], sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served[1]), 20) as stranger:
        assert _read(stranger, remote.GREETING_BYTES).startswith(remote.GREETING)
        with contextlib.suppress(ConnectionError):
            stranger.sendall(sent)
            assert stranger.recv(1) == b""
    assert control_scores(served[0].client()) == [0.5] * 3


@pytest.mark.parametrize("sizes", [(1 << 31, 1 << 31), (0xFFFFFFFF, 0), (10, (64 << 20) + 1)])
def test_a_giant_frame_ends_the_connection_before_it_is_read(
    served: tuple[RunningDaemon, int], sizes: tuple[int, int]
) -> None:
    connection, _ = _joined(served[1])
    with connection:
        connection.sendall(struct.pack("<II", *sizes))
        assert connection.recv(1) == b""


def test_a_changed_frame_ends_the_connection(served: tuple[RunningDaemon, int]) -> None:
    connection, challenge = _joined(served[1])
    frame = frames.encode({"op": "status", "id": 1})
    seal = challenge.seal("client")
    with connection:
        connection.sendall(frame + seal.tag(frame))
        head, body = frames.sizes(_read(connection, frames.SIZES.size))
        assert b'"available": true' in _read(connection, head + body + remote.TAG)
        other = frames.encode({"op": "status", "id": 2})
        connection.sendall(other + seal.tag(frame))
        assert connection.recv(1) == b""


def test_a_peer_that_is_slow_loses_nothing_and_stops_nobody(served: tuple[RunningDaemon, int]) -> None:
    port = served[1]
    connection, challenge = _joined(port)
    frame = frames.encode({"op": "status", "id": 1})
    with connection, client(port) as other:
        for byte in frame:
            connection.sendall(bytes([byte]))
        assert control_scores(other) == [0.5] * 3
        connection.sendall(challenge.seal("client").tag(frame))
        head, _ = frames.sizes(_read(connection, frames.SIZES.size))
        assert frames.decode(_read(connection, head))["id"] == 1


def test_a_peer_that_says_nothing_is_not_waited_for() -> None:
    script = (
        "import sys\nfrom worker.sandbox.transport import remote\nremote.HANDSHAKE_SECONDS = 0.2\n"
        "from worker.sandbox.__main__ import main\nsys.exit(main(['--socket', *sys.argv[1:]]))\n"
    )
    with (
        running_daemon(script=script, token=TOKEN) as daemon,
        socket.create_connection(("127.0.0.1", daemon.port()), 20) as silent,
    ):
        assert len(_read(silent, remote.GREETING_BYTES)) == remote.GREETING_BYTES
        assert silent.recv(1) == b""


def test_a_cut_connection_frees_the_jail(served: tuple[RunningDaemon, int]) -> None:
    daemon, port = served
    connection, challenge = _joined(port)
    source = "import time\ndef grade(sample, item):\n    time.sleep(60)\n"
    head = {"op": "score", "id": 1, "source": source, "count": 1, "timeouts": {"sample": 60, "call": 120}}
    frame = frames.encode(head, frames.pack_rows([RewardRow("p", "c")]))

    def running() -> list[int]:
        return [child for jail in jails_of(daemon) for child in children(jail)]

    with connection:
        connection.sendall(frame + challenge.seal("client").tag(frame))
        eventually(running)
    eventually(lambda: not running())
    assert control_scores(daemon.client()) == [0.5] * 3


class Relay:
    """Passes bytes on to a daemon until it is told to cut or to turn a bit."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = port
        self.harm: bytes | None = None
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def cut(self) -> None:
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        for sock in (*self._sockets, self._listener):
            sock.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data.replace(self.harm, self.harm.swapcase()) if self.harm else data)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(served: tuple[RunningDaemon, int]) -> Iterator[Relay]:
    relay = Relay(served[1])
    yield relay
    relay.close()


def test_a_client_comes_back_after_the_network_was_away(relay: Relay) -> None:
    with client(relay.port) as far:
        assert control_scores(far) == [0.5] * 3
        relay.cut()
        eventually(lambda: control_scores(far) == [0.5] * 3)


def test_a_connection_cut_in_the_middle_is_no_score(served: tuple[RunningDaemon, int], relay: Relay) -> None:
    daemon, _ = served
    source = "import time\ndef grade(sample, item):\n    time.sleep(60)\n"
    with client(relay.port) as far:
        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(far.score(source, ROWS)))
        thread.start()
        eventually(lambda: [child for jail in jails_of(daemon) for child in children(jail)])
        relay.cut()
        thread.join(30)
    assert [(outcome.status, outcome.rows) for outcome in outcomes] == [("sandbox_unavailable", [])]


@pytest.mark.parametrize("word", [b"output_text", b'"status"'])
def test_what_a_stranger_changes_on_the_way_is_never_believed(relay: Relay, word: bytes) -> None:
    source = "def grade(sample, item): return float(sample['output_text'] == 'c')\n"
    with client(relay.port) as far:
        assert far.score(source, ROWS).status == "ok"
        relay.harm = word
        outcome = far.score(source, ROWS)
        assert (outcome.status, outcome.rows) == ("sandbox_unavailable", [])


def test_an_impostor_is_recognised() -> None:
    with socket.create_server(("127.0.0.1", 0)) as impostor:

        def pretend() -> None:
            peer, _ = impostor.accept()
            with peer:
                peer.sendall(remote.GREETING + b"n" * remote.NONCE)
                _read(peer, remote.ANSWER_BYTES)
                peer.sendall(b"p" * remote.TAG)
                peer.recv(1)

        threading.Thread(target=pretend, daemon=True).start()
        with client(impostor.getsockname()[1]) as far:
            assert "does not hold the token" in far.status().reasons[0]


def test_something_else_that_listens_is_recognised() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def speak() -> None:
            peer, _ = other.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n" + b"x" * 100)

        threading.Thread(target=speak, daemon=True).start()
        with client(other.getsockname()[1]) as far:
            assert "no sandbox daemon" in far.status().reasons[0]


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with client(port) as far:
        assert f"tcp://127.0.0.1:{port}" in far.status().reasons[0]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("/run/s.sock", Address(path="/run/s.sock")),
        ("unix:///run/s.sock", Address(path="/run/s.sock")),
        ("tcp://box.example:7000", Address(host="box.example", port=7000)),
        ("tcp://[::1]:7000", Address(host="::1", port=7000)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "tcp://box",
        "tcp://:1",
        "tcp://box:0",
        "http://box:1",
        "unix://box/s",
        "tcp://u:p@box:1",
        "tcp://box:1/x",
    ],
)
def test_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="address"):
        SandboxClient(text)


def test_a_daemon_on_tcp_needs_a_token_worth_the_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weak = tmp_path / "token"
    weak.write_text("hunter2\n")
    for arguments, says in (
        (["--listen", "127.0.0.1:0"], "--token-file"),
        (["--listen", "127.0.0.1:0", "--token-file", str(weak)], "at least 32"),
        (["--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "none")], "No such file"),
        (["--listen", "7000", "--token-file", str(weak)], "HOST:PORT"),
        ([], "--socket or --listen"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert says in capsys.readouterr().err
