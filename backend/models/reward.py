"""Rewards and their immutable revisions."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class Reward(Created, Base):
    __tablename__ = "reward"
    __table_args__ = (Index("ix_reward_list", "project_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    description: Mapped[str | None]
    granularity: Mapped[str]
    revision: Mapped[int]
    """The newest revision's number."""
    entry: Mapped[str | None]
    """Of the newest revision."""
    created_by: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class RewardRevision(Created, Base):
    __tablename__ = "reward_revision"

    reward_id: Mapped[str] = mapped_column(ForeignKey("reward.id", ondelete="CASCADE"), primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    source: Mapped[str]
    sha256: Mapped[str]
    entry: Mapped[str | None]
    entries: Mapped[list[dict[str, Any]]]
    """Functions found by the sandbox: name, spelling, line."""
