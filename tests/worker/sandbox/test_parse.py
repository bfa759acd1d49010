"""Whatever bytes a jail sends: a status of the closed set, finite numbers, printable text, or a protocol error."""

import asyncio
import contextlib
import math
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.sandbox import RowResult, Timeouts
from worker.sandbox.daemon.calls import NeedsLibraries, ScoringCall, score
from worker.sandbox.daemon.parse import ChildRun, ProtocolError, clean_text, end_of_child, parse_run
from worker.sandbox.daemon.session import JailDied
from worker.sandbox.jailed import region
from worker.sandbox.jailed.tool_texts import clean
from worker.sandbox.outcome import CALL_STATUSES, ROW_STATUSES

ROWS = 3

u32 = st.integers(0, 2**32 - 1)
small = st.integers(0, 20)
f64 = st.floats(width=64)
counts = st.one_of(small, u32)


@st.composite
def payloads(draw: st.DrawFn, start: int = 0, rows: int = ROWS) -> bytes:
    """Replies of the right shape with hostile contents, sometimes cut, extended or flipped."""
    header = region.HEADER.pack(
        draw(counts), draw(counts), draw(counts), draw(counts), draw(st.integers(0, 2)), draw(f64), draw(f64),
        draw(counts),
    )  # fmt: skip
    slots, contents = [], []
    for _ in range(rows):
        fields = [draw(st.one_of(st.integers(0, 6), u32)), *(draw(counts) for _ in range(10))]
        at = draw(st.one_of(st.just(sum(map(len, contents))), counts))
        slot = region.RowSlot(*fields, at, draw(counts), draw(f64), draw(f64), draw(f64))
        slots.append(region.SLOT.pack(*slot))
        prints, tail, numbers = slot.used() or (0, 0, 0)
        contents.append(draw(st.binary(min_size=prints + tail, max_size=prints + tail)))
        contents.append(b"".join(struct.pack("<d", draw(f64)) for _ in range(numbers // 8)))
    log = draw(st.binary(max_size=50))
    done = region.DONE.pack(
        start, rows, draw(st.one_of(st.just(0), u32)), draw(st.integers(0, 6)), draw(st.integers(0, 3)),
        draw(f64), draw(f64), draw(f64), sum(map(len, contents)), len(log),
    )  # fmt: skip
    payload = bytearray(b"".join([done, header, *slots, *contents, log]))
    for _ in range(draw(st.integers(0, 2))):
        payload[draw(st.integers(0, len(payload) - 1))] = draw(st.integers(0, 255))
    return bytes(payload[: draw(st.one_of(st.none(), st.integers(0, len(payload))))])


def check(row: RowResult) -> None:
    assert row.status in ROW_STATUSES
    assert (row.value is not None) == (row.status == "ok")
    numbers = [
        row.wall_ms,
        row.cpu_ms,
        *row.parts.values(),
        *row.criteria.values(),
        *(x for v in row.candidates for x in v),
    ]
    numbers += [x for step in (*row.steps, *row.turns) for x in step] + (
        [] if row.value is None else [row.value]
    )
    assert all(math.isfinite(x) for x in numbers)
    assert all(abs(x) <= 1e6 for x in (*row.parts.values(), *row.criteria.values()))
    assert len(row.parts) <= 16 and all(name.isprintable() for name in row.parts)
    for text in (row.prints, row.message or "", row.reason or ""):
        assert len(text) <= 2048 and text.replace("\n", "").replace("\t", "").isprintable()


def check_run(run: ChildRun) -> None:
    for row in run.rows:
        if row is not None:
            check(row)
    status, text = end_of_child(run, 2.0, 30.0)
    assert status in ROW_STATUSES and text


@settings(max_examples=150, deadline=None)
@given(payloads())
def test_mutated_replies(payload: bytes) -> None:
    try:
        run = parse_run(payload, 0, ROWS)
    except ProtocolError:
        return
    check_run(run)


@settings(max_examples=100, deadline=None)
@given(payloads())
def test_mutated_replies_of_tools(payload: bytes) -> None:
    try:
        run = parse_run(payload, 0, ROWS, texts=region.TOOL_TEXTS)
    except ProtocolError:
        return
    for row in run.rows:
        if row is not None:
            assert row.status in ROW_STATUSES and (row.value is None or math.isfinite(row.value))
            assert len(row.reason or "") <= region.TOOL_TEXT_BYTES
            assert len(row.message or "") <= region.STATE_BYTES
            assert clean(row.reason or "") == (row.reason or "")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000), st.integers(0, 4), st.integers(1, 20))
def test_random_bytes(payload: bytes, start: int, rows: int) -> None:
    with contextlib.suppress(ProtocolError):
        check_run(parse_run(payload, start, rows))


class LyingSession:
    """Answers every run with the next prepared payload."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._answers = iter(answers)

    async def begin(self, *_: object) -> bytes:
        return next(self._answers, b"")

    async def resume(self, unit: int, *_: object) -> bytes:
        answer = bytearray(next(self._answers, b""))
        answer[:4] = struct.pack("<I", unit)
        return bytes(answer)

    def forget(self) -> None:
        pass


@settings(max_examples=150, deadline=None)
@given(
    st.lists(payloads(), max_size=6),
    st.sampled_from(["sample", "batch"]),
    st.sampled_from([[[0], [1], [2]], [[0, 2], [1]]]),
)
def test_a_call_ends_with_defined_statuses_whatever_the_jail_answers(
    answers: list[bytes], isolate: str, units: list[list[int]]
) -> None:
    call = ScoringCall("score", "", None, b"", units, "group", isolate, Timeouts())
    try:
        outcome = asyncio.run(score(LyingSession(answers), call, "L"))  # type: ignore[arg-type]
    except (JailDied, NeedsLibraries):
        return
    assert outcome.status in CALL_STATUSES
    assert len(outcome.rows) == (ROWS if outcome.status == "ok" else 0)
    for row in outcome.rows:
        check(row)


def reply(*slots: region.RowSlot, contents: bytes = b"", finished: int = 1) -> bytes:
    header = region.HEADER.pack(region.LOADED, 0, 0, 0, finished, 0.0, 0.0, 0)
    done = region.DONE.pack(
        0, len(slots), 0, region.ENDED_ITSELF, region.RUNNING, 0.0, 0.0, 0.0, len(contents), 0
    )
    return b"".join([done, header, *(region.SLOT.pack(*slot) for slot in slots), contents])


def slot(status: int = 1, score: float = 0.5, **fields: int) -> region.RowSlot:
    return region.RowSlot(
        status, **{**dict.fromkeys(region.RowSlot._fields[1:13], 0), **fields}, score=score, wall=0.0, cpu=0.0
    )


def test_an_honest_reply_is_read() -> None:
    contents = b"hi" + b"a\0bc\0" + b"why" + struct.pack("<4d", 1.0, 2.0, 0.25, 7.0)
    honest = slot(parts=2, steps=1, part_names=5, reason=3, prints=2)
    (row,) = parse_run(reply(honest, contents=contents), 0, 1).rows
    assert row == RowResult("ok", 0.5, {"a": 1.0, "bc": 2.0}, steps=[(0.25, 7)], reason="why", prints="hi")


@pytest.mark.parametrize(
    ("damaged", "contents"),
    [
        (slot(score=math.nan), b""),
        (slot(score=1e300), b""),
        (slot(status=6), b""),
        (slot(parts=17), b""),
        (slot(candidates=2**31, width=2**31), b""),
        (slot(reason=5000), b""),
        (slot(reason=3, at=1), b"why"),
        (slot(reason=3, at=2**32 - 1), b"why"),
        (slot(prints=1), b""),
        (slot(parts=1), struct.pack("<d", 1.0)),
        (slot(parts=2, part_names=4), b"a\0a\0" + struct.pack("<2d", 1.0, 2.0)),
        (slot(parts=1, part_names=3), b"\x1bx\0" + struct.pack("<d", 1.0)),
        (slot(steps=1), struct.pack("<2d", 1.0, 0.5)),
        (slot(turns=1), struct.pack("<2d", 1.0, 0.5)),
        (slot(turns=257), struct.pack("<514d", *[1.0] * 514)),
        (slot(steps=1), struct.pack("<2d", 1.0, -1.0)),
        (slot(parts=1, part_names=2), b"a\0" + struct.pack("<d", math.inf)),
    ],
)
def test_a_damaged_row_is_a_bad_value(damaged: region.RowSlot, contents: bytes) -> None:
    (row,) = parse_run(reply(damaged, contents=contents), 0, 1).rows
    assert row is not None and (row.status, row.value) == ("bad_value", None)


def test_a_run_that_did_not_say_it_finished_is_not_clean() -> None:
    assert parse_run(reply(slot()), 0, 1).clean
    assert not parse_run(reply(slot(), finished=0), 0, 1).clean


def test_text_is_made_printable() -> None:
    assert clean_text(b"a\x1b[31mb\xff\n\tc\x00") == "a [31mb\ufffd\n\tc "
