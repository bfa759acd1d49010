"""what a job's measurements say about its outcome

Revises: 0026
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0027"
down_revision: str | Sequence[str] | None = "0026"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("job", sa.Column("verdict", JSONB(none_as_null=True), nullable=True))
    # A checkpoint that is not above the base is no longer the best.
    op.execute(
        "UPDATE checkpoint SET best = false FROM job WHERE job.id = checkpoint.job_id AND checkpoint.best"
        " AND checkpoint.held_out_reward <= job.held_out_reward_before"
    )
    op.execute(
        "UPDATE job SET best_step = NULL WHERE best_step IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM checkpoint WHERE checkpoint.job_id = job.id AND checkpoint.best)"
    )


def downgrade() -> None:
    op.drop_column("job", "verdict")
