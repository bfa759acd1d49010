"""Layout of all data that enters or leaves the jail, as plain structs.

The host sends a *request*, the child fills a *region* of shared memory, the zygote sends a *reply* with the
region's used part. A *unit* is what one call of the reward function scores. Times are seconds.
"""

import struct
from typing import NamedTuple

MAX_PARTS, MAX_CRITERIA, MAX_STEPS, MAX_CANDIDATE_NUMBERS = 16, 64, 256, 1024
NAME_BYTES, REASON_BYTES, MESSAGE_BYTES, PRINTS_BYTES = 64, 1024, 2048, 2048
MAX_MAGNITUDE = 1e6
"""A greater score is an error: it would dominate every advantage."""

LOG_BYTES = 16384
FLOOD_BYTES = 8 << 20

TOOL_TEXT_BYTES = STATE_BYTES = 64 << 10
"""Limits of a tool's result and a rollout's state in bytes; they are sent as a row's reason and message."""

MAX_NUMBERS = MAX_PARTS + MAX_CRITERIA + 4 * MAX_STEPS + MAX_CANDIDATE_NUMBERS

LOADING, LOADED, LOAD_FAILED, NEEDS = 0, 1, 2, 3
"""States of a child; NEEDS asks the zygote to load libraries."""

STATUS_CODES = {"ok": 1, "not_applicable": 2, "exception": 3, "bad_value": 4, "memory": 5}
"""Statuses that a child may report; the host determines all others."""


class Texts(NamedTuple):
    """Limits of a row's two strings, in bytes."""

    reason: int
    message: int

    @property
    def row_bytes(self) -> int:
        names = (MAX_PARTS + MAX_CRITERIA) * (NAME_BYTES + 1)
        return PRINTS_BYTES + names + self.reason + self.message + 8 * MAX_NUMBERS


REWARD_TEXTS, TOOL_TEXTS = Texts(REASON_BYTES, MESSAGE_BYTES), Texts(TOOL_TEXT_BYTES, STATE_BYTES)


class Header(NamedTuple):
    state: int
    unit: int
    line: int
    column: int
    finished: int
    started: float
    cpu_started: float
    used: int


class RowSlot(NamedTuple):
    """One row's outcome: counts of numbers, sizes of strings in bytes, and the offset ``at`` of both."""

    status: int
    parts: int
    criteria: int
    steps: int
    candidates: int
    width: int
    part_names: int
    criteria_names: int
    reason: int
    message: int
    prints: int
    at: int
    turns: int
    score: float
    wall: float
    cpu: float

    def used(self, texts: Texts = REWARD_TEXTS) -> tuple[int, int, int] | None:
        if (
            self.parts > MAX_PARTS
            or self.criteria > MAX_CRITERIA
            or self.steps > MAX_STEPS
            or self.turns > MAX_STEPS
            or self.candidates * self.width > MAX_CANDIDATE_NUMBERS
            or self.part_names > MAX_PARTS * (NAME_BYTES + 1)
            or self.criteria_names > MAX_CRITERIA * (NAME_BYTES + 1)
            or self.reason > texts.reason
            or self.message > texts.message
            or self.prints > PRINTS_BYTES
        ):
            return None
        numbers = self.parts + self.criteria + 2 * (self.steps + self.turns) + self.candidates * self.width
        tail = self.part_names + self.criteria_names + self.reason + self.message
        return self.prints, tail, 8 * numbers


HEADER = struct.Struct("<IIIIIddI")
USED_OFFSET = 36
SLOT = struct.Struct("<13Iddd")
PRINTS_OFFSET = 40


def region_size(rows: int, texts: Texts = REWARD_TEXTS) -> int:
    return space_offset(rows) + rows * texts.row_bytes


def slot_offset(row: int) -> int:
    return HEADER.size + row * SLOT.size


def space_offset(rows: int) -> int:
    return slot_offset(rows)


FRAME = struct.Struct("<4sBI")
MAGIC = b"RFS1"
READY, FAILED, REPLY, PRELOADED = 1, 2, 3, 4
"""READY carries a :data:`HELLO`, FAILED a message, REPLY a result, PRELOADED an import error or
nothing.
"""

HELLO = struct.Struct("<IIIBBB")
"""Fields: pid, uid, Landlock ABI, Python major, minor, micro."""

CALL = struct.Struct("<cIIIIddd")
"""Fields: op, rows, units, first unit, body bytes, seconds (for the call, for loading, of CPU)."""
OP_CALL, OP_RESUME, OP_FORGET, OP_PRELOAD, OP_PROGRAM, OP_TOOLS = b"C", b"R", b"F", b"P", b"X", b"T"
"""PRELOAD's body names modules, one per line. PROGRAM is a one-row call; TOOLS a call with larger texts."""

BODY = struct.Struct("<I")

PROGRAM = struct.Struct("<IIQ")

DONE = struct.Struct("<IIIIIdddII")
"""Fields: first unit, rows, wait status, cause, progress, seconds (CPU, wall, last unit), bytes of rows and
log.
"""

ENDED_ITSELF, UNIT_TIMEOUT, LOAD_TIMEOUT, CALL_DEADLINE, OUTPUT_FLOOD = 0, 1, 2, 3, 4

NOT_STARTED, IMPORTING, RUNNING = 0, 1, 2
"""A child's progress, from a pipe that is closed before the first row: rewards cannot forge it."""


def pack_body(head: bytes, rows: bytes = b"") -> bytes:
    return b"".join((BODY.pack(len(head)), head, rows))


def reply_cap(rows: int, output: int = LOG_BYTES, texts: Texts = REWARD_TEXTS) -> int:
    return DONE.size + region_size(rows, texts) + output
