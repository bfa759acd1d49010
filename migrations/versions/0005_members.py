"""members of a project

Revises: 0004
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | Sequence[str] | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "member",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_member_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_member")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_member_project_id_name")),
    )
    for table in ("browser_session", "sign_in_token"):
        op.add_column(table, sa.Column("member_id", sa.Text(), nullable=True))
        op.create_index(op.f(f"ix_{table}_member_id"), table, ["member_id"])
        op.create_foreign_key(
            op.f(f"fk_{table}_member_id"), table, "member", ["member_id"], ["id"], ondelete="CASCADE"
        )


def downgrade() -> None:
    for table in ("sign_in_token", "browser_session"):
        op.drop_constraint(op.f(f"fk_{table}_member_id"), table, type_="foreignkey")
        op.drop_index(op.f(f"ix_{table}_member_id"), table_name=table)
        op.drop_column(table, "member_id")
    op.drop_table("member")
