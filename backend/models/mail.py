"""E-mails to users."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class Mail(Created, Base):
    __tablename__ = "mail"
    __table_args__ = (
        CheckConstraint("state IN ('pending', 'sent', 'failed')", name="state"),
        Index("ix_mail_due", "next_at", postgresql_where=text("state = 'pending'")),
        Index("ix_mail_user", "user_id", "created_at"),
        Index("ix_mail_created_at", "created_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    member_id: Mapped[str | None] = mapped_column(ForeignKey("member.id", ondelete="CASCADE"), index=True)
    type: Mapped[str]
    address: Mapped[str]
    data: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default="pending")
    tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime] = mapped_column(default=now)
    give_up_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    error: Mapped[str | None]
