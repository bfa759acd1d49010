"""when each project's turn in the queue was

Revises: 0021
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0022"
down_revision: str | Sequence[str] | None = "0021"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("project", sa.Column("served_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("project", "served_at")
