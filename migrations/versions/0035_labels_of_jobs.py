"""notes, tags and archive of jobs

Revises: 0034
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0035"
down_revision: str | Sequence[str] | None = "0034"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

JSON = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())


def upgrade() -> None:
    op.add_column("job", sa.Column("notes", sa.Text(), nullable=False, server_default=""))
    op.add_column("job", sa.Column("tags", JSON, nullable=False, server_default="[]"))
    op.add_column("job", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("job", "archived_at")
    op.drop_column("job", "tags")
    op.drop_column("job", "notes")
