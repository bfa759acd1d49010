"""the words of completions are found with less work; an index for bands of rewards

Space is left as it is, which separates words anyway: the words are the same. They are made anew for all completions,
which takes about half a millisecond each.

Revises: 0019
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0020"
down_revision: str | Sequence[str] | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

BEYOND_ASCII = (
    r"\u00bf\u00d7\u00f7\u2000-\u2bff\u3000-\u303f\ufe30-\ufe4f\uff00-\uff0f\U0001f000-\U0001faff]+"
)
BEFORE = r"[\u0001-/:-@\[-`{-" + BEYOND_ASCII
AFTER = r"[\u0001-\u0008\u000b\u000c\u000e-\u001f!-/:-@\[-`{-" + BEYOND_ASCII


def upgrade() -> None:
    _make(AFTER)
    op.create_index(
        "ix_completion_reward",
        "completion",
        ["job_id", "reward"],
        postgresql_include=["step", "split", "prompt_no", "sample_no", "length"],
    )


def downgrade() -> None:
    op.drop_index("ix_completion_reward", table_name="completion")
    _make(BEFORE)


def _make(no_word: str) -> None:
    words = f"to_tsvector('simple'::regconfig, regexp_replace(text, '{no_word}', ' ', 'g'))"
    op.drop_index("ix_completion_words", table_name="completion")
    op.drop_column("completion", "words")
    op.execute(
        f"ALTER TABLE completion ADD COLUMN words tsvector GENERATED ALWAYS AS ({words}) STORED NOT NULL"
    )
    op.create_index("ix_completion_words", "completion", ["words"], postgresql_using="gin")
