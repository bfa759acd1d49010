"""uploaded adapters

Revises: 0038
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0039"
down_revision: str | Sequence[str] | None = "0038"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

JSON = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())


def upgrade() -> None:
    op.alter_column("adapter", "job_id", nullable=True)
    op.alter_column("adapter", "checkpoint_id", nullable=True)
    op.add_column("adapter", sa.Column("model_sha256", sa.Text(), nullable=True))
    op.add_column("adapter", sa.Column("lora", JSON, nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM adapter WHERE job_id IS NULL")
    op.drop_column("adapter", "lora")
    op.drop_column("adapter", "model_sha256")
    op.alter_column("adapter", "checkpoint_id", nullable=False)
    op.alter_column("adapter", "job_id", nullable=False)
