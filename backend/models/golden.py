"""Golden cases: completions with their expected rewards."""

from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class GoldenCaseRow(Created, Base):
    __tablename__ = "golden_case"
    __table_args__ = (Index("ix_golden_case_list", "reward_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    reward_id: Mapped[str] = mapped_column(ForeignKey("reward.id", ondelete="CASCADE"))
    item: Mapped[dict[str, Any]]
    prompt: Mapped[Any] = mapped_column(JSONB())
    completion: Mapped[str]
    expect: Mapped[dict[str, Any]]
    note: Mapped[str | None]
    origin: Mapped[dict[str, Any] | None]
    """Source of the completion: job, split, step, prompt_no, sample_no."""
    created_by: Mapped[str | None]
