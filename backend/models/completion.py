"""Completions: a narrow row each; texts, tokens and reward results are in the step's Parquet object."""

from sqlalchemy import ForeignKey, ForeignKeyConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class StepRollouts(Base):
    """The Parquet object of one step (or one evaluation); its row group n holds prompt n."""

    __tablename__ = "step_rollouts"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt: Mapped[int]
    sha256: Mapped[str] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    count: Mapped[int]
    revisions: Mapped[dict[str, str]]
    """Reward name → revision that scored these rows."""


class Completion(Base):
    __tablename__ = "completion"
    __table_args__ = (
        ForeignKeyConstraint(
            ["job_id", "split", "step"],
            ["step_rollouts.job_id", "step_rollouts.split", "step_rollouts.step"],
            ondelete="CASCADE",
        ),
        Index("ix_completion_prompt", "job_id", "prompt_hash"),
    )

    job_id: Mapped[str] = mapped_column(primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    prompt_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sample_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    row_index: Mapped[int]
    prompt_hash: Mapped[str]
    reward: Mapped[float | None]
    advantage: Mapped[float | None]
    length: Mapped[int]
    finish_reason: Mapped[str]
    error: Mapped[str | None]
    text: Mapped[str]
    """First 2,000 characters."""
