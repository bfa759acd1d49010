"""what projects use by day, and their budgets

Revises: 0011
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | Sequence[str] | None = "0011"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "usage",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("amount", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_usage_project_id")),
        sa.PrimaryKeyConstraint("project_id", "day", "kind", "source", name=op.f("pk_usage")),
    )
    op.create_table(
        "budget",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("amount", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("period IN ('day', 'month', 'total')", name=op.f("ck_budget_period")),
        sa.CheckConstraint("amount >= 0", name=op.f("ck_budget_amount")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_budget_project_id")),
        sa.PrimaryKeyConstraint("project_id", "kind", "period", name=op.f("pk_budget")),
    )
    # How far the device time of an attempt has been counted.
    op.add_column("attempt", sa.Column("counted_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("attempt", "counted_at")
    op.drop_table("budget")
    op.drop_table("usage")
