"""adapter that a job starts from

Revises: 0036
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0037"
down_revision: str | Sequence[str] | None = "0036"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

JSON = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())


def upgrade() -> None:
    op.add_column("job", sa.Column("start_sha256", sa.Text(), nullable=True))
    op.add_column("job", sa.Column("start", JSON, nullable=True))
    op.create_foreign_key(
        "fk_job_start_sha256_stored_object", "job", "stored_object", ["start_sha256"], ["sha256"]
    )
    op.create_index("ix_job_start_sha256", "job", ["start_sha256"])


def downgrade() -> None:
    op.drop_index("ix_job_start_sha256", "job")
    op.drop_constraint("fk_job_start_sha256_stored_object", "job", type_="foreignkey")
    op.drop_column("job", "start")
    op.drop_column("job", "start_sha256")
