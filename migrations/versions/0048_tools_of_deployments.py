"""tools that deployments run

Revises: 0047
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0048"
down_revision: str | Sequence[str] | None = "0047"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("deployment", sa.Column("environment", postgresql.JSONB(), nullable=True))


def downgrade() -> None:
    op.drop_column("deployment", "environment")
