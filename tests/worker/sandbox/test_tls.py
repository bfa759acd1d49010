"""A sandbox on another machine: the same answers over TLS, for those who hold the key file and for nobody else."""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.__main__ import main
from worker.sandbox.transport import frames, tls
from worker.sandbox.transport.address import Address
from worker.sandbox.transport.connection import Connection
from worker.sandbox.transport.tls import KeyFile

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
from .network import Relay, tls_records, write_key_file

ROWS = [RewardRow("p", "c")] * 3
SLOW = "import time\ndef grade(sample, item):\n    time.sleep(60)\n"


class Served:
    """A running daemon, its port and its key file."""

    def __init__(self, daemon: RunningDaemon) -> None:
        self.daemon = daemon
        self.port = daemon.port()
        self.key = KeyFile(daemon.key_file)

    def client(self, port: int | None = None) -> SandboxClient:
        return SandboxClient(f"tcp://127.0.0.1:{port or self.port}", self.key)

    def join(self) -> ssl.SSLSocket:
        """An accepted connection without the client's rules."""
        plain = socket.create_connection(("127.0.0.1", self.port), 20)
        connection = self.key.client_context.wrap_socket(plain)
        connection.sendall(tls.OWN_PROCESS)
        assert _read(connection, len(tls.GREETING)) == tls.GREETING
        return connection


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with running_daemon(tcp=True) as daemon:
        assert daemon.announced == f"sandboxd: code rewards are on: jail {STRONGEST} was proved to hold"
        yield Served(daemon)


@pytest.fixture
def relay(served: Served) -> Iterator[Relay]:
    relay = Relay(served.port)
    yield relay
    relay.close()


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (part := connection.recv(size - len(data))):
        data += part
    return data


def _reason(port: int, key: KeyFile) -> str:
    with SandboxClient(f"tcp://127.0.0.1:{port}", key) as client:
        status = client.status()
    assert not status.available
    return status.reasons[0]


def _other_key(folder: Path) -> KeyFile:
    return KeyFile(write_key_file(folder / "other.pem"))


# Answers


def test_the_same_answers_as_on_the_same_machine(served: Served) -> None:
    source = "def grade(sample, item): return {'score': len(sample['output_text']), 'parts': {'a': 1}, 'reason': 'é'}"
    rows = [RewardRow("p", "x" * n, {"n": n}) for n in range(1, 200)]
    with served.daemon.client() as near, served.client() as far:
        answers = [client.score(source, rows) for client in (near, far)]
        assert len(answers[0].rows) == 199
        timeless = [[replace(row, wall_ms=0, cpu_ms=0) for row in answer.rows] for answer in answers]
        assert timeless[0] == timeless[1]
        assert far.validate(source).entries == near.validate(source).entries
        assert far.status().jail == near.status().jail == answers[1].jail == STRONGEST


def test_large_frames_pass_in_both_directions(served: Served) -> None:
    source = "def grade(sample, item): return {'score': 1.0, 'reason': sample['output_text'][:2000]}"
    rows = [RewardRow("p", f"{n:04}" * 10_000) for n in range(600)]
    with served.client() as far:
        outcome = far.score(source, rows)
    assert [(row.reason or "")[:100] for row in outcome.rows] == [f"{n:04}" * 25 for n in range(600)]
    assert sum(len(row.reason or "") for row in outcome.rows) > 500_000


def test_calls_share_a_connection(served: Served, relay: Relay) -> None:
    with served.client(relay.port) as far:
        for _ in range(5):
            assert control_scores(far) == [0.5] * 3
    assert relay.connections == 1


# Key files


def test_the_daemon_creates_a_key_file_that_only_its_user_reads(served: Served, tmp_path: Path) -> None:
    assert served.daemon.key_file.stat().st_mode & 0o777 == 0o600
    path = tmp_path / "sandbox.pem"
    KeyFile.create_if_missing(path)
    contents = path.read_bytes()
    KeyFile.create_if_missing(path)
    assert path.read_bytes() == contents and contents != served.daemon.key_file.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["sandbox.pem"], "no draft is left"


def test_another_key_file_is_refused_and_both_sides_say_so(tmp_path: Path) -> None:
    with running_daemon(tcp=True) as daemon:
        served = Served(daemon)
        reason = _reason(served.port, _other_key(tmp_path))
        assert "certificate is not the one in the key file" in reason and "SANDBOX_KEY_FILE" in reason
        assert daemon.process.stderr is not None
        assert (
            daemon.process.stderr.readline() == "sandboxd: refused 127.0.0.1: it does not have the key file\n"
        )
        assert control_scores(served.client()) == [0.5] * 3


@pytest.mark.parametrize("presents", ["nothing", "another", "one issued with the key"])
def test_a_client_without_the_key_file_gets_no_answer(served: Served, tmp_path: Path, presents: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if presents != "nothing":
        issuer = served.daemon.key_file if presents == "one issued with the key" else None
        context.load_cert_chain(write_key_file(tmp_path / "own.pem", issuer=issuer))
    request = tls.OWN_PROCESS + frames.encode({"op": "status", "id": 1})
    received = b""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", served.port), 20) as plain,
        context.wrap_socket(plain) as connection,
    ):
        connection.sendall(request)
        received = connection.recv(1 << 16)
    assert received == b""
    assert control_scores(served.client()) == [0.5] * 3


def test_what_is_no_key_file_is_named(tmp_path: Path, served: Served) -> None:
    text = served.daemon.key_file.read_text()
    cut = text.index("-----BEGIN CERTIFICATE")
    other = write_key_file(tmp_path / "other.pem").read_text()
    other_certificate = other[other.index("-----BEGIN CERTIFICATE") :]
    for contents in ("hunter2", text[:cut], text[cut:], text[:-100], text[:cut] + other_certificate):
        path = tmp_path / "broken.pem"
        path.write_text(contents)
        with pytest.raises(ValueError, match=r"broken\.pem is not a key file"):
            KeyFile(path)
    with pytest.raises(OSError, match="No such file"):
        KeyFile(tmp_path / "none.pem")


def test_an_expired_key_file_says_how_to_renew_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expired on .* GMT. Delete the key file"):
        KeyFile(write_key_file(tmp_path / "old.pem", starts=-3, ends=-1))


@pytest.mark.parametrize(
    ("starts", "ends", "message"), [(-3, -1, "has expired. Delete"), (1, 3, "not valid yet. Set the clocks")]
)
def test_a_certificate_is_checked_again_in_each_handshake(
    tmp_path: Path, starts: int, ends: int, message: str
) -> None:
    key = KeyFile(write_key_file(tmp_path / "k.pem", starts=starts, ends=ends, ca=False))
    with _peer(lambda plain: key.server_context().wrap_socket(plain, server_side=True)) as port:
        assert message in _reason(port, key)


def test_a_daemon_on_tcp_needs_a_key_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = tmp_path / "token"
    weak.write_text("hunter2\n")
    missing = str(tmp_path / "none" / "k.pem")
    listen = ["--listen", "127.0.0.1:0"]
    for arguments, message in (
        (listen, "--listen needs --key-file"),
        ([*listen, "--key-file", str(weak)], "not a key file"),
        ([*listen, "--key-file", missing], "No such file"),
        (["--listen", "7000", "--key-file", str(weak)], "HOST:PORT"),
        ([], "--socket or --listen"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        main([*listen, "--key-file", str(tmp_path / "new.pem")])
    assert "openssl is needed" in capsys.readouterr().err


# Somebody on the way


def test_an_eavesdropper_reads_nothing(served: Served, relay: Relay) -> None:
    prompt, completion, constant, reason = ("prompt-4711", "completion-4711", "source-4711", "reason-4711")
    source = f"# {constant}\ndef grade(sample, item): return {{'score': 0.5, 'reason': 'reason-' + str(4700 + 11)}}"
    with served.client(relay.port) as far:
        outcome = far.score(source, [RewardRow(prompt, completion, {"answer": "item-4711"})])
    assert outcome.rows[0].reason == reason
    private_key = ssl.PEM_cert_to_DER_cert(
        served.daemon.key_file.read_text()
        .partition("-----END PRIVATE")[0]
        .replace("PRIVATE KEY", "CERTIFICATE")
        + "-----END CERTIFICATE-----"
    )
    for data in (bytes(relay.to_daemon), bytes(relay.to_client)):
        assert {kind for kind, _ in tls_records(data)} <= {20, 21, 22, 23}
        assert sum(len(contents) for kind, contents in tls_records(data) if kind == 23) > 100
        for secret in (
            b"4711",
            b"output_text",
            b'"status"',
            b"def grade",
            private_key[-32:],
            tls.OWN_PROCESS,
        ):
            assert secret not in data


def test_a_recorded_connection_cannot_be_replayed(served: Served, relay: Relay) -> None:
    with served.client(relay.port) as far:
        assert control_scores(far) == [0.5] * 3
    with (
        socket.create_connection(("127.0.0.1", served.port), 5) as replay,
        contextlib.suppress(ConnectionError),
    ):
        replay.sendall(relay.to_daemon)
        while replay.recv(1 << 16):
            pass


def test_a_connection_is_never_resumed(served: Served) -> None:
    """Who has got hold of a ticket would not prove that it holds the key."""
    with served.join() as first:
        session = first.session
        assert session is not None and not session.has_ticket
    plain = socket.create_connection(("127.0.0.1", served.port), 20)
    with served.key.client_context.wrap_socket(plain, session=session) as second:
        assert not second.session_reused


def test_a_man_in_the_middle_with_another_certificate_is_recognised(served: Served, tmp_path: Path) -> None:
    other = _other_key(tmp_path)
    received: list[bytes] = []

    def pretend(plain: socket.socket) -> None:
        context = other.server_context()
        context.verify_mode = ssl.CERT_NONE
        with context.wrap_socket(plain, server_side=True) as near:
            received.append(near.recv(1 << 16))

    with _peer(pretend) as port:
        assert "certificate is not the one" in _reason(port, served.key)
    assert b"".join(received) == b""


def test_a_man_in_the_middle_with_a_certificate_issued_with_the_key_is_recognised(
    served: Served, tmp_path: Path
) -> None:
    issued = write_key_file(tmp_path / "issued.pem", issuer=served.daemon.key_file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued)
    with _peer(lambda plain: context.wrap_socket(plain, server_side=True).recv(100)) as port:
        assert "certificate is not the one" in _reason(port, served.key)


def test_changed_bytes_are_never_believed(served: Served, relay: Relay) -> None:
    with served.client(relay.port) as far:
        assert far.score(CONTROL, ROWS).status == "ok"
        relay.flip = True
        outcome = far.score(CONTROL, ROWS)
        assert (outcome.status, outcome.rows) == ("sandbox_unavailable", [])


def test_an_aborted_connection_stays_encrypted(served: Served) -> None:
    """Another thread aborts while this one may still send: `SSLSocket.shutdown` would send the rest in plain text."""
    connection = Connection(Address(host="127.0.0.1", port=served.port), served.key)
    connection.abort()
    assert isinstance(connection._socket, ssl.SSLSocket)
    assert connection._socket.version() == "TLSv1.3"
    with pytest.raises(OSError):
        list(connection.ask([({"op": "status"}, b"")]))
    connection.close()


# Peers that are no sandbox


@contextlib.contextmanager
def _peer(serve: object) -> Iterator[int]:
    """The port of a listener whose one connection is handed to ``serve``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                plain, _ = listener.accept()
                with plain:
                    assert callable(serve)
                    serve(plain)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join(10)


@pytest.mark.parametrize(
    "sent",
    [
        b"reinforge-sandboxd-2\n" + b"n" * 32,
        b"HTTP/1.1 400 Bad Request\r\n" + b"x" * 100,
        b"SSH-2.0-OpenSSH_9\r\n",
    ],
    ids=["sandbox of version 0.2", "http", "ssh"],
)
def test_a_peer_without_tls_is_named(served: Served, sent: bytes) -> None:
    def speak(plain: socket.socket) -> None:
        plain.sendall(sent)
        plain.recv(1 << 16)

    with _peer(speak) as port:
        reason = _reason(port, served.key)
    assert "does not use TLS" in reason and "update it" in reason


def test_a_tunnel_without_a_sandbox_at_its_end_is_named(served: Served) -> None:
    with _peer(lambda plain: plain.recv(1)) as port:
        assert "closed during the TLS handshake. Check that the sandbox runs" in _reason(port, served.key)


@pytest.mark.parametrize("drips", [False, True])
def test_a_peer_with_a_slow_handshake_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch, drips: bool
) -> None:
    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS", 0.5)
    record = b"\x16\x03\x03\x40\x00" + b"\x02" * 1000

    def drip(plain: socket.socket) -> None:
        for byte in record if drips else ():
            plain.sendall(bytes([byte]))
            time.sleep(0.05)
        plain.recv(1 << 16), plain.recv(1)

    with _peer(drip) as port:
        started = time.monotonic()
        assert "took longer than 0.5 s" in _reason(port, served.key)
        assert time.monotonic() - started < 5


def test_another_version_is_named(served: Served) -> None:
    def serve(plain: socket.socket) -> None:
        with served.key.server_context().wrap_socket(plain, server_side=True) as near:
            near.sendall(tls.GREETING.replace(b"3", b"9"))
            near.recv(100)

    with _peer(serve) as port:
        assert "has another version" in _reason(port, served.key)


def test_no_listener(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert f"tcp://127.0.0.1:{port}" in _reason(port, served.key)


# Clients that disturb


@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/1.1\r\n\r\n" + b"\n" * 100, b"\0" * 72, b"\xff" * (1 << 16)],
    ids=["http", "zeros", "ones"],
)
def test_strangers_get_nothing(served: Served, sent: bytes) -> None:
    received = b""
    with (
        socket.create_connection(("127.0.0.1", served.port), 20) as stranger,
        contextlib.suppress(ConnectionError),
    ):
        stranger.sendall(sent)
        while part := stranger.recv(100):
            received += part
    assert all(kind == 21 for kind, _ in tls_records(received)), "an alert at most"
    assert control_scores(served.daemon.client()) == [0.5] * 3


def test_handshakes_that_hang_block_nobody(served: Served) -> None:
    """More of them than there may be at once; half of them have sent a part of a handshake. The oldest end."""
    with contextlib.ExitStack() as hanging:
        oldest = hanging.enter_context(socket.create_connection(("127.0.0.1", served.port), 20))
        for number in range(200):
            stranger = hanging.enter_context(socket.create_connection(("127.0.0.1", served.port), 20))
            if number % 2:
                stranger.sendall(b"\x16\x03\x01\x02\x00\x01")
        started = time.monotonic()
        with served.client() as far:
            assert control_scores(far) == [0.5] * 3
        assert oldest.recv(1) == b""
        assert time.monotonic() - started < tls.HANDSHAKE_SECONDS / 2


def test_a_client_that_sends_nothing_is_not_waited_for() -> None:
    script = (
        "import sys\nfrom worker.sandbox.transport import tls\ntls.HANDSHAKE_SECONDS = 0.2\n"
        "from worker.sandbox.__main__ import main\nsys.exit(main(['--socket', *sys.argv[1:]]))\n"
    )
    with running_daemon(script=script, tcp=True) as daemon:
        served = Served(daemon)
        with socket.create_connection(("127.0.0.1", served.port), 20) as silent:
            assert silent.recv(1) == b""
        assert daemon.process.stderr is not None
        assert "refused 127.0.0.1: no TLS handshake within 0.2 s" in daemon.process.stderr.readline()
        plain = socket.create_connection(("127.0.0.1", served.port), 20)
        with served.key.client_context.wrap_socket(plain) as unnamed:
            assert unnamed.recv(1) == b"", "authenticated, but without the identity of its process"


@pytest.mark.parametrize("sizes", [(1 << 31, 1 << 31), (0xFFFFFFFF, 0), (10, (64 << 20) + 1)])
def test_a_giant_frame_ends_the_connection_before_it_is_read(served: Served, sizes: tuple[int, int]) -> None:
    with served.join() as connection:
        connection.sendall(struct.pack("<II", *sizes))
        assert connection.recv(1) == b""


def test_a_peer_that_is_slow_loses_nothing_and_stops_nobody(served: Served) -> None:
    frame = frames.encode({"op": "status", "id": 1})
    with served.join() as connection, served.client() as other:
        for byte in frame[:-1]:
            connection.sendall(bytes([byte]))
        assert control_scores(other) == [0.5] * 3
        connection.sendall(frame[-1:])
        head, _ = frames.sizes(_read(connection, frames.SIZES.size))
        assert frames.decode(_read(connection, head))["id"] == 1


# Networks that fail


def _running(daemon: RunningDaemon) -> list[int]:
    return [child for jail in jails_of(daemon) for child in children(jail)]


def test_a_cut_connection_frees_the_jail(served: Served) -> None:
    head = {"op": "score", "id": 1, "source": SLOW, "count": 1, "timeouts": {"sample": 60, "call": 120}}
    with served.join() as connection:
        connection.sendall(frames.encode(head, frames.pack_rows([RewardRow("p", "c")])))
        eventually(lambda: _running(served.daemon))
    eventually(lambda: not _running(served.daemon))
    assert control_scores(served.daemon.client()) == [0.5] * 3


def test_a_client_comes_back_after_the_network_was_away(served: Served, relay: Relay) -> None:
    with served.client(relay.port) as far:
        assert control_scores(far) == [0.5] * 3
        relay.cut()
        eventually(lambda: control_scores(far) == [0.5] * 3)


def test_a_connection_cut_in_the_middle_is_no_score(served: Served, relay: Relay) -> None:
    with served.client(relay.port) as far:
        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(far.score(SLOW, ROWS)))
        thread.start()
        eventually(lambda: _running(served.daemon))
        relay.cut()
        thread.join(30)
    assert [(outcome.status, outcome.rows) for outcome in outcomes] == [("sandbox_unavailable", [])]
