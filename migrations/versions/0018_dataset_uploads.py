"""uploads with numbered parts, in the object store or in the bucket itself

Revises: 0017
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0018"
down_revision: str | Sequence[str] | None = "0017"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

JSON = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
BEFORE = "status IN ('pending', 'completed', 'cancelled', 'expired')"
AFTER = "status IN ('pending', 'completed', 'cancelled', 'expired', 'refused')"


def upgrade() -> None:
    op.add_column("upload", sa.Column("name", sa.Text(), nullable=True))
    op.add_column("upload", sa.Column("sha256", sa.Text(), nullable=True))
    op.add_column("upload", sa.Column("part_bytes", sa.BigInteger(), nullable=True))
    op.add_column("upload", sa.Column("bucket_upload", sa.Text(), nullable=True))
    op.add_column("upload", sa.Column("error", JSON, nullable=True))
    op.drop_constraint(op.f("ck_upload_status"), "upload", type_="check")
    op.create_check_constraint(op.f("ck_upload_status"), "upload", AFTER)
    op.create_index(
        "ix_upload_content", "upload", ["project_id", "sha256"], postgresql_where=sa.text("status = 'pending'")
    )
    op.add_column("upload_part", sa.Column("number", sa.BigInteger(), nullable=True))
    op.add_column("upload_part", sa.Column("digest", sa.Text(), nullable=True))
    op.alter_column("upload_part", "sha256", existing_type=sa.Text(), nullable=True)
    op.create_unique_constraint(op.f("uq_upload_part_upload_id_number"), "upload_part", ["upload_id", "number"])


def downgrade() -> None:
    op.execute("DELETE FROM upload WHERE part_bytes IS NOT NULL")
    op.drop_constraint(op.f("uq_upload_part_upload_id_number"), "upload_part", type_="unique")
    op.alter_column("upload_part", "sha256", existing_type=sa.Text(), nullable=False)
    op.drop_column("upload_part", "digest")
    op.drop_column("upload_part", "number")
    op.drop_index("ix_upload_content", "upload")
    op.drop_constraint(op.f("ck_upload_status"), "upload", type_="check")
    op.create_check_constraint(op.f("ck_upload_status"), "upload", BEFORE)
    for name in ("error", "bucket_upload", "part_bytes", "sha256", "name"):
        op.drop_column("upload", name)
