"""jobs that go on from a step of another

Revises: 0015
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0016"
down_revision: str | Sequence[str] | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("job", sa.Column("forked_from_id", sa.Text(), nullable=True))
    op.add_column("job", sa.Column("forked_step", sa.BigInteger(), nullable=True))
    op.add_column("job", sa.Column("carried", JSONB(none_as_null=True), nullable=True))
    op.create_foreign_key(op.f("fk_job_forked_from_id"), "job", "job", ["forked_from_id"], ["id"])
    op.create_index("ix_job_forked_from_id", "job", ["forked_from_id"])


def downgrade() -> None:
    # Without the columns a fork is a job that began at a step of its own; those that have not started would begin anew.
    op.execute(
        "UPDATE job SET status = 'cancelled', reason = 'requested' WHERE forked_from_id IS NOT NULL"
        " AND status NOT IN ('succeeded', 'failed', 'cancelled')"
    )
    op.drop_index("ix_job_forked_from_id", "job")
    op.drop_constraint(op.f("fk_job_forked_from_id"), "job", type_="foreignkey")
    op.drop_column("job", "carried")
    op.drop_column("job", "forked_step")
    op.drop_column("job", "forked_from_id")
