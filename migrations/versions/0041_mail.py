"""e-mail notifications

Revises: 0040
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0041"
down_revision: str | Sequence[str] | None = "0040"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("user_account", sa.Column("confirmed_email", sa.Text(), nullable=True))
    events = sa.Column("mail_events", postgresql.JSONB(none_as_null=True), server_default="[]", nullable=False)
    op.add_column("member", events)
    op.create_table(
        "mail",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("member_id", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("data", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("give_up_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('pending', 'sent', 'failed')", name=op.f("ck_mail_state")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_mail_user_id_user_account", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["member_id"], ["member.id"], name="fk_mail_member_id_member", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_mail"),
    )
    op.create_index("ix_mail_due", "mail", ["next_at"], postgresql_where=sa.text("state = 'pending'"))
    op.create_index("ix_mail_user", "mail", ["user_id", "created_at"])
    op.create_index("ix_mail_created_at", "mail", ["created_at"])
    op.create_index("ix_mail_member_id", "mail", ["member_id"])


def downgrade() -> None:
    op.drop_table("mail")
    op.drop_column("member", "mail_events")
    op.drop_column("user_account", "confirmed_email")
