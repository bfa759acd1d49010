"""what engines each worker has, and why one takes no job

Revises: 0031
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0032"
down_revision: str | Sequence[str] | None = "0031"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

JSON = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())


def upgrade() -> None:
    op.add_column("worker", sa.Column("engines", JSON, nullable=True))
    op.add_column("worker", sa.Column("waits_for", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("worker", "waits_for")
    op.drop_column("worker", "engines")
