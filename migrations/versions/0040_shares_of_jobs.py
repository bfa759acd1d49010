"""share links of jobs

Revises: 0039
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0040"
down_revision: str | Sequence[str] | None = "0039"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "job_share",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_job_share_project_id_project"),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_job_share_job_id_job", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_job_share_user_id_user_account", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["key_id"], ["api_key.id"], name="fk_job_share_key_id_api_key", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_job_share"),
        sa.UniqueConstraint("sha256", name="uq_job_share_sha256"),
    )
    for column in ("job_id", "user_id", "key_id"):
        op.create_index(f"ix_job_share_{column}", "job_share", [column])


def downgrade() -> None:
    op.drop_table("job_share")
