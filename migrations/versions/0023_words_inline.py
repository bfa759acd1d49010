"""the words of completions lie in their rows

Revises: 0022
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0023"
down_revision: str | Sequence[str] | None = "0022"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    # For rows from now on; those that are there are found as before, with the old cost.
    op.execute("ALTER TABLE completion ALTER COLUMN words SET STORAGE MAIN")


def downgrade() -> None:
    op.execute("ALTER TABLE completion ALTER COLUMN words SET STORAGE EXTENDED")
