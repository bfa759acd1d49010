"""webhooks with their deliveries; how far a base model's download is, its revision and token

Revises: 0013
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0014"
down_revision: str | Sequence[str] | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

MOMENT = sa.DateTime(timezone=True)
JSON = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())


def upgrade() -> None:
    op.create_table(
        "webhook",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("events", JSON, nullable=False),
        sa.Column("secret_sealed", sa.Text(), nullable=False),
        sa.Column("old_secret_sealed", sa.Text(), nullable=True),
        sa.Column("old_secret_until", MOMENT, nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_webhook_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index("ix_webhook_list", "webhook", ["project_id", "created_at", "id"])
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("next_at", MOMENT, nullable=False),
        sa.Column("give_up_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'failed')", name=op.f("ck_webhook_delivery_state")
        ),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name=op.f("fk_webhook_delivery_webhook_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
    )
    op.create_index(
        "ix_webhook_delivery_due", "webhook_delivery", ["next_at"], postgresql_where=sa.text("state = 'pending'")
    )
    op.create_index("ix_webhook_delivery_list", "webhook_delivery", ["webhook_id", "created_at", "id"])
    op.create_index("ix_webhook_delivery_created_at", "webhook_delivery", ["created_at"])
    op.create_table(
        "webhook_try",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("milliseconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["webhook_delivery.id"],
            name=op.f("fk_webhook_try_delivery_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("delivery_id", "number", name=op.f("pk_webhook_try")),
    )
    for name in ("revision", "token_sealed"):
        op.add_column("base_model", sa.Column(name, sa.Text(), nullable=True))
    for name in ("progress", "shape"):
        op.add_column("base_model", sa.Column(name, JSON, nullable=True))
    op.add_column("base_model", sa.Column("touched_at", MOMENT, nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM base_model WHERE status = 'adding'")
    for name in ("touched_at", "shape", "progress", "token_sealed", "revision"):
        op.drop_column("base_model", name)
    for table in ("webhook_try", "webhook_delivery", "webhook"):
        op.drop_table(table)
