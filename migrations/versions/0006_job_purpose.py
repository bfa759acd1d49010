"""purpose of a job: pre-flights beside training

Revises: 0005
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | Sequence[str] | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("job", sa.Column("purpose", sa.Text(), nullable=False, server_default="train"))
    op.alter_column("job", "purpose", server_default=None)
    op.create_check_constraint(op.f("ck_job_purpose"), "job", "purpose IN ('train', 'preflight')")


def downgrade() -> None:
    # Without the column a pre-flight would look like a job that somebody had trained.
    op.execute("DELETE FROM job WHERE purpose <> 'train'")
    op.drop_constraint(op.f("ck_job_purpose"), "job", type_="check")
    op.drop_column("job", "purpose")
