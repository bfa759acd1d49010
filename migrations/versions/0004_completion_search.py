"""search of completions by words and numbers

Revises: 0003
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0004"
down_revision: str | Sequence[str] | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NO_WORD = (
    r"[\u0001-/:-@\[-`{-\u00bf\u00d7\u00f7\u2000-\u2bff\u3000-\u303f\ufe30-\ufe4f\uff00-\uff0f\U0001f000-\U0001faff]+"
)
WORDS = f"to_tsvector('simple'::regconfig, regexp_replace(text, '{NO_WORD}', ' ', 'g'))"


def upgrade() -> None:
    op.add_column(
        "completion",
        sa.Column("words", postgresql.TSVECTOR(), sa.Computed(WORDS, persisted=True), nullable=False),
    )
    op.create_index("ix_completion_words", "completion", ["words"], postgresql_using="gin")
    op.create_index(
        "ix_completion_search",
        "completion",
        ["job_id", "step", "split", "prompt_no", "sample_no"],
        postgresql_include=["reward", "advantage", "length", "finish_reason"],
    )
    op.create_index(
        "ix_completion_failed", "completion", ["job_id", "step"], postgresql_where=sa.text("error IS NOT NULL")
    )


def downgrade() -> None:
    op.drop_index("ix_completion_failed", table_name="completion")
    op.drop_index("ix_completion_search", table_name="completion")
    op.drop_index("ix_completion_words", table_name="completion")
    op.drop_column("completion", "words")
