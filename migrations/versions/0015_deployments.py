"""deployments: weights under a name

Revises: 0014
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0015"
down_revision: str | Sequence[str] | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

STATES = "state IN ('loading', 'ready', 'draining', 'stopped', 'failed')"
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "deployment",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("model_id", sa.Text(), nullable=False),
        sa.Column("model_sha256", sa.Text(), nullable=True),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("checkpoint_id", sa.Text(), nullable=True),
        sa.Column("adapter_id", sa.Text(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("rank", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error", JSONB(none_as_null=True), nullable=True),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("failed_requests", sa.BigInteger(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", TIME, nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(STATES, name=op.f("ck_deployment_state")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_deployment_project_id")),
        sa.ForeignKeyConstraint(["model_id"], ["base_model.id"], name=op.f("fk_deployment_model_id")),
        sa.ForeignKeyConstraint(["sha256"], ["stored_object.sha256"], name=op.f("fk_deployment_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deployment")),
        sa.UniqueConstraint("project_id", "name", name="uq_deployment_project_id_name"),
    )
    op.create_index("ix_deployment_sha256", "deployment", ["sha256"])
    for column in ("job", "checkpoint", "adapter"):
        op.create_foreign_key(
            op.f(f"fk_deployment_{column}_id"),
            "deployment",
            column,
            [f"{column}_id"],
            ["id"],
            ondelete="SET NULL",
        )
        op.create_index(f"ix_deployment_{column}_id", "deployment", [f"{column}_id"])


def downgrade() -> None:
    op.drop_table("deployment")
