"""Rewards and their immutable revisions."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now

KINDS = "kind IN ('python', 'grader')"


class Reward(Created, Base):
    __tablename__ = "reward"
    __table_args__ = (
        CheckConstraint(KINDS, name="kind"),
        Index("ix_reward_list", "project_id", "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    description: Mapped[str | None]
    granularity: Mapped[str]
    kind: Mapped[str] = mapped_column(default="python")
    revision: Mapped[int]
    entry: Mapped[str | None]
    created_by: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class RewardRevision(Created, Base):
    __tablename__ = "reward_revision"
    __table_args__ = (CheckConstraint(KINDS, name="kind"),)

    reward_id: Mapped[str] = mapped_column(ForeignKey("reward.id", ondelete="CASCADE"), primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(default="python")
    source: Mapped[str]
    sha256: Mapped[str]
    entry: Mapped[str | None]
    entries: Mapped[list[dict[str, Any]]]
    """Functions of the code (name, spelling, line), or parts of a grader (key, type)."""
