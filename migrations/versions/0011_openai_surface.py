"""what the OpenAI surface keeps: what a job's request said, adapters' and files' ends, uploads, permissions

Revises: 0010
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0011"
down_revision: str | Sequence[str] | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("job", sa.Column("openai", JSONB(none_as_null=True), nullable=True))
    op.add_column("adapter", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("dataset", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_dataset_expires", "dataset", ["expires_at"], postgresql_where=sa.text("expires_at IS NOT NULL")
    )
    op.create_table(
        "upload",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("filename", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("file_seconds", sa.BigInteger(), nullable=True),
        sa.Column("dataset_id", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'completed', 'cancelled', 'expired')", name=op.f("ck_upload_status")
        ),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_upload_project_id")),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_upload_dataset_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
    )
    op.create_index("ix_upload_dataset_id", "upload", ["dataset_id"])
    op.create_table(
        "upload_part",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("upload_id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_upload_part_upload_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["sha256"], ["stored_object.sha256"], name=op.f("fk_upload_part_sha256")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload_part")),
    )
    op.create_index("ix_upload_part_upload_id", "upload_part", ["upload_id"])
    op.create_index("ix_upload_part_sha256", "upload_part", ["sha256"])
    op.create_table(
        "checkpoint_permission",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("checkpoint_id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["checkpoint_id"],
            ["checkpoint.id"],
            name=op.f("fk_checkpoint_permission_checkpoint_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_checkpoint_permission_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoint_permission")),
        sa.UniqueConstraint(
            "checkpoint_id", "project_id", name="uq_checkpoint_permission_checkpoint_id_project_id"
        ),
    )


def downgrade() -> None:
    op.drop_table("checkpoint_permission")
    op.drop_table("upload_part")
    op.drop_table("upload")
    op.drop_index("ix_dataset_expires", "dataset")
    op.drop_column("dataset", "expires_at")
    op.execute("DELETE FROM adapter WHERE deleted_at IS NOT NULL")
    op.drop_column("adapter", "deleted_at")
    op.drop_column("job", "openai")
