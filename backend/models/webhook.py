"""Webhooks, their deliveries, and every attempt to deliver."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class Webhook(Created, Base):
    __tablename__ = "webhook"
    __table_args__ = (Index("ix_webhook_list", "project_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    url: Mapped[str]
    description: Mapped[str | None]
    events: Mapped[list[str]]
    secret_sealed: Mapped[str]
    old_secret_sealed: Mapped[str | None]
    old_secret_until: Mapped[datetime | None]
    enabled: Mapped[bool]
    disabled_reason: Mapped[str | None]
    created_by: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class WebhookDelivery(Created, Base):
    __tablename__ = "webhook_delivery"
    __table_args__ = (
        CheckConstraint("state IN ('pending', 'delivered', 'failed')", name="state"),
        Index("ix_webhook_delivery_due", "next_at", postgresql_where=text("state = 'pending'")),
        Index("ix_webhook_delivery_list", "webhook_id", "created_at", "id"),
        Index("ix_webhook_delivery_created_at", "created_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhook.id", ondelete="CASCADE"))
    event_id: Mapped[str]
    type: Mapped[str]
    body: Mapped[str]
    state: Mapped[str] = mapped_column(default="pending")
    tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime] = mapped_column(default=now)
    give_up_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class WebhookTry(Base):
    __tablename__ = "webhook_try"

    delivery_id: Mapped[str] = mapped_column(
        ForeignKey("webhook_delivery.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(default=now)
    status: Mapped[int | None]
    error: Mapped[str | None]
    milliseconds: Mapped[float]
