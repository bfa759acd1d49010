"""Metrics: a series per job, kind and key; a point per step."""

from sqlalchemy import CheckConstraint, ForeignKey, Identity, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class MetricSeries(Base):
    __tablename__ = "metric_series"
    __table_args__ = (
        UniqueConstraint("job_id", "kind", "key"),
        CheckConstraint("kind IN ('train', 'held_out')", name="kind"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    kind: Mapped[str]
    key: Mapped[str]


class MetricPoint(Base):
    """The value is NULL if undefined."""

    __tablename__ = "metric_point"
    __table_args__ = (CheckConstraint("value > '-Infinity' AND value < 'Infinity'", name="finite"),)

    series_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ts: Mapped[float]
    value: Mapped[float | None]
