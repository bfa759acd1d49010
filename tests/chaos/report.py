"""Records of faults, for people."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.chaos.faults import Fault

Record = dict[str, Any]
_COUNTED = ("series_holes", "series_doubles", "dead_points", "lost")


def passed(record: Record) -> bool:
    """Nothing lost, doubled, left over or different; a fault whose point was never reached says nothing."""
    if record.get("error"):
        return False
    same = record["adapter_sha256"] == record["expected_sha256"]
    return same and not any(record[name] for name in _COUNTED) and not record["left_running"]


def broken(fault: Fault, error: Exception) -> Record:
    """The record of a fault after which the suite itself could not go on."""
    return {
        "fault": fault.label, "family": fault.family, "role": "+".join(fault.victims), "point": fault.phase,
        "phase": None, "at_step": None, "fired": True, "recovered_s": None, "adapter_sha256": None,
        "expected_sha256": None, "series_holes": 0, "series_doubles": 0, "dead_points": 0, "lost": 1,
        "status": "unknown", "reason": None, "attempts": [], "paused": [], "seconds": 0.0,
        "undisturbed_s": 0.0, "left_running": False, "notes": [], "error": f"{type(error).__name__}: {error}"[:2000],
    }  # fmt: skip


def line(number: int, record: Record) -> str:
    verdict = "ok" if passed(record) else "FAILED"
    if not record["fired"]:
        verdict += ", not reached"
    back = "" if record["recovered_s"] is None else f", back after {record['recovered_s']:.1f} s"
    detail = "".join(f"\n      {note}" for note in [*record["notes"], *filter(None, [record.get("error")])])
    paused = f", paused: {', '.join(record['paused'])}" if record["paused"] else ""
    return (
        f"{number:4} {verdict}: {record['fault']} ({record['point']}) at step {record['at_step']}{back}, "
        f"{record['seconds']:.0f} s in {len(record['attempts'])} attempts{paused}{detail}"
    )


def table(records: Sequence[Record]) -> str:
    """Markdown: fault → times tried → lost → longest delay."""
    families: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["fired"]:
            families[record["family"]].append(record)
    lines = ["| fault | times tried | anything lost or different | longest delay |", "|---|---:|---:|---:|"]
    for family, tried in sorted(families.items()):
        bad = sum(not passed(record) for record in tried)
        delays = [record["recovered_s"] for record in tried if record["recovered_s"] is not None]
        longest = f"{max(delays):.1f} s" if delays else "–"
        lines.append(f"| {family} | {len(tried)} | {bad} | {longest} |")
    fired = [record for record in records if record["fired"]]
    bad = sum(not passed(record) for record in records)
    lines.append(f"| **all** | **{len(fired)}** | **{bad}** | |")
    if len(fired) < len(records):
        lines.append(
            f"\n{len(records) - len(fired)} faults were armed at points that their job did not come to."
        )
    return "\n".join(lines)
