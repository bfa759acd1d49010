"""Findings and log lines of a job."""

from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class FindingRow(Base):
    __tablename__ = "finding"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str]
    severity: Mapped[str]
    step: Mapped[int]
    message: Mapped[str]
    hint: Mapped[str | None]
    evidence: Mapped[dict[str, Any]]
    ts: Mapped[float]

    @property
    def source(self) -> str:
        return str(self.evidence.get("source", "trainer"))

    @property
    def resolved_step(self) -> int | None:
        step: int | None = self.evidence.get("resolved_step")
        return step


class LogLineRow(Base):
    """Survives a resume, to explain why the previous attempt ended."""

    __tablename__ = "log_line"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    ts: Mapped[float]
    level: Mapped[str]
    message: Mapped[str]
    step: Mapped[int | None]
    attempt: Mapped[int]
