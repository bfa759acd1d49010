"""whose a call is, so that projects take turns

Revises: 0027
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0028"
down_revision: str | Sequence[str] | None = "0027"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("call", sa.Column("project_id", sa.Text(), nullable=True))
    op.create_index("ix_call_project", "call", ["project_id", "state"])


def downgrade() -> None:
    op.drop_index("ix_call_project", "call")
    op.drop_column("call", "project_id")
