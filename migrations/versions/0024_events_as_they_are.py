"""what events tell is stored as it is

Revises: 0023
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0024"
down_revision: str | Sequence[str] | None = "0023"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    # Only rows of more than 2 kB were compressed: those of many steps, whose numbers took longer to compress than all
    # else about them. Rows that are there stay as they are.
    op.execute("ALTER TABLE event ALTER COLUMN data SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.execute("ALTER TABLE event ALTER COLUMN data SET STORAGE EXTENDED")
