"""Stored findings of jobs: list, order of importance, the most important one."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import FindingRow
from reinforge.diagnosis.finding import EvidenceNumber, FindingEvidence, JobFinding
from reinforge.diagnosis.texts import TEXTS
from reinforge.schemas.findings import FindingEntry, FindingHead

SOURCE = "training_check"
_SEVERITIES = ("error", "warning", "info")
_UNRANKED = 1000


async def entries(session: AsyncSession, job_id: str) -> list[FindingEntry]:
    return [view(row) for row in sorted(await _rows(session, [job_id]), key=_order)]


async def heads(session: AsyncSession, job_ids: Sequence[str]) -> dict[str, FindingHead]:
    """The most important open error or warning of each job that has one."""
    open_rows = [row for row in await _rows(session, job_ids) if row.resolved_step is None]
    ordered = sorted((row for row in open_rows if row.severity != "info"), key=_order, reverse=True)
    return {row.job_id: _head(row) for row in ordered}


async def _rows(session: AsyncSession, job_ids: Sequence[str]) -> Sequence[FindingRow]:
    query = select(FindingRow).where(FindingRow.job_id.in_(job_ids)).order_by(FindingRow.seq)
    return (await session.scalars(query)).all()


def _order(row: FindingRow) -> tuple[bool, int, int, int]:
    rank = row.evidence.get("rank")
    return (
        row.resolved_step is not None,
        rank if isinstance(rank, int) else _UNRANKED,
        _SEVERITIES.index(row.severity) if row.severity in _SEVERITIES else len(_SEVERITIES),
        row.seq,
    )


def view(row: FindingRow) -> FindingEntry:
    details = _details(row.code, row.step, row.evidence)
    message = row.message.removeprefix(f"{details['title']}: ")
    return FindingEntry.model_validate(
        {"code": row.code, "severity": row.severity, "message": message, "hint": row.hint}
        | {"noticed_step": row.step, "source": row.source, "resolved_step": row.resolved_step}
        | details
    )


def _head(row: FindingRow) -> FindingHead:
    details = _details(row.code, row.step, row.evidence)
    return FindingHead.model_validate({"code": row.code, "severity": row.severity} | details)


def _details(code: str, step: int, stored: Mapping[str, Any]) -> dict[str, Any]:
    text = TEXTS.get(code)  # type: ignore[call-overload]
    since = stored.get("since_step")
    if "remedies" not in stored:  # the trainer's, and those stored before 0.3
        numbers = [
            EvidenceNumber(name=name, value=value)
            for name, value in stored.items()
            if isinstance(value, int | float) and not name.endswith("_step")
        ]
        evidence = FindingEvidence(numbers=numbers).model_dump()
    else:
        evidence = stored["evidence"]
    return {
        "title": stored.get("title") or (text.title if text else code.replace("_", " ").capitalize()),
        "why": stored.get("why") or (text.why if text else ""),
        "step": step if since is None else since,
        "evidence": evidence,
        "remedies": stored.get("remedies", []),
        "cause": stored.get("cause"),
    }


def stored_evidence(finding: JobFinding, rank: int) -> dict[str, Any]:
    details = finding.model_dump(mode="json", include={"title", "why", "evidence", "remedies", "cause"})
    return {**details, "source": SOURCE, "since_step": finding.step, "rank": rank, "resolved_step": None}
