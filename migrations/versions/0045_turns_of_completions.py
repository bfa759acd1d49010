"""turns and tool calls of completions

Revises: 0044
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0045"
down_revision: str | Sequence[str] | None = "0044"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("completion", sa.Column("turns", sa.BigInteger(), nullable=False, server_default="1"))
    op.add_column("completion", sa.Column("tool_calls", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("completion", sa.Column("tool_errors", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("completion", "tool_errors")
    op.drop_column("completion", "tool_calls")
    op.drop_column("completion", "turns")
