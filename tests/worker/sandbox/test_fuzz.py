"""Whatever a jail sends down its channel: a frame within its cap, or the jail is given up; and of programs only the
statuses of the list."""

import asyncio
import socket
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.sandbox import ProgramLimits, ProgramRun, Timeouts
from worker.sandbox.daemon.calls import BadRequest, NeedsLibraries
from worker.sandbox.daemon.session import JailDied, Session
from worker.sandbox.jailed import region
from worker.sandbox.outcome import ProgramStatus
from worker.sandbox.programs import ProgramCall, run_programs

from .test_parse import payloads

STATUSES = set(ProgramStatus.__args__)  # type: ignore[attr-defined]
LIMITS = ProgramLimits(output=40)


class LyingSession:
    """Answers every run with the next prepared payload."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._answers = iter(answers)

    async def run_program(self, *_: object) -> bytes:
        return next(self._answers, b"")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(payloads(rows=1), st.binary(max_size=400)), max_size=3), st.booleans())
def test_runs_end_with_defined_statuses_whatever_the_jail_answers(answers: list[bytes], scan: bool) -> None:
    call = ProgramCall("", [ProgramRun()] * 2, LIMITS)
    try:
        outcome = asyncio.run(run_programs(LyingSession(answers), call, "L", scan))  # type: ignore[arg-type]
    except (JailDied, NeedsLibraries):
        return
    for result in outcome.results:
        assert result.status in STATUSES
        assert len(result.output) <= LIMITS.output and len(result.notes) <= 2048
        assert result.message is None or len(result.message) <= 2048
        assert 0 <= result.wall_ms <= 1e9 and 0 <= result.cpu_ms <= 1e9


def _frame(kind: int, body: bytes) -> bytes:
    return region.FRAME.pack(region.MAGIC, kind, len(body)) + body


frames = st.one_of(
    st.binary(max_size=60),
    st.builds(
        region.FRAME.pack,
        st.sampled_from([region.MAGIC, b"RFTS", b"\0\0\0\0"]),
        st.integers(0, 255),
        st.one_of(st.integers(0, 100), st.integers(0, 2**32 - 1)),
    ),
    st.builds(
        lambda kind, body: region.FRAME.pack(region.MAGIC, kind, len(body)) + body,
        st.integers(0, 5),
        st.binary(),
    ),
)


async def _receive(sent: bytes) -> bytes:
    """What a session makes of bytes that its jail sends before it ends."""
    ours, theirs = socket.socketpair()
    theirs.sendall(sent)
    theirs.shutdown(socket.SHUT_WR)
    reader, writer = await asyncio.open_connection(sock=ours)
    session = Session(None, reader, writer)  # type: ignore[arg-type]
    try:
        return await session.begin(b"{}", 1, [1.0], Timeouts(), 1.0)
    finally:
        writer.close()
        theirs.close()


@settings(max_examples=200, deadline=None)
@given(st.lists(frames, max_size=4))
def test_a_channel_full_of_anything_gives_a_reply_within_its_cap_or_none(sent: list[bytes]) -> None:
    try:
        payload = asyncio.run(_receive(b"".join(sent)))
    except JailDied:
        return
    assert len(payload) <= region.reply_cap(1)


def test_a_frame_that_announces_too_much_is_not_read() -> None:
    """The pipe stays open and empty behind the head: whoever tried to read on would wait."""

    async def run() -> None:
        ours, theirs = socket.socketpair()
        theirs.sendall(region.FRAME.pack(region.MAGIC, region.REPLY, region.reply_cap(1) + 1))
        reader, writer = await asyncio.open_connection(sock=ours)
        session = Session(None, reader, writer)  # type: ignore[arg-type]
        with pytest.raises(JailDied, match="not a valid frame"):
            await session.begin(b"{}", 1, [1.0], Timeouts(), 60.0)
        writer.close()
        theirs.close()

    asyncio.run(asyncio.wait_for(run(), 30))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["stdin", "call", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.fixed_dictionaries({}, optional={"source": json_values, "limits": json_values}),
    st.one_of(st.binary(max_size=30), st.just(b"[{}]"), st.just(b"[" * 100_000)),
)
def test_a_request_to_run_programs_is_understood_or_refused(request: dict[str, object], body: bytes) -> None:
    try:
        call = ProgramCall.from_request(request, body)
    except BadRequest:
        return
    assert isinstance(call.source, str) and call.runs
