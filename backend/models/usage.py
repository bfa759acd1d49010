"""Usage of projects by day, and their budgets."""

from datetime import date

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class UsageRow(Base):
    """One row per source, so that two jobs never contend for a row."""

    __tablename__ = "usage"

    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True, default="")
    """Id of the job, deployment or other source; empty for the project itself."""
    amount: Mapped[float]


class BudgetRow(Created, Base):
    __tablename__ = "budget"
    __table_args__ = (
        CheckConstraint("period IN ('day', 'month', 'total')", name="period"),
        CheckConstraint("amount >= 0", name="amount"),
    )

    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    period: Mapped[str] = mapped_column(primary_key=True)
    amount: Mapped[float]
