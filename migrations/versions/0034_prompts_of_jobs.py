"""sums per prompt and step, and the prompts of jobs

Revises: 0033
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0034"
down_revision: str | Sequence[str] | None = "0033"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_PASS_ABOVE = "coalesce((job.resolved_spec -> 'evaluation' ->> 'pass_above')::float8, 0.5)"


def upgrade() -> None:
    op.create_table(
        "prompt_draw",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("prompt_no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("row_index", sa.BigInteger(), nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("completions", sa.BigInteger(), nullable=False),
        sa.Column("scored", sa.BigInteger(), nullable=False),
        sa.Column("passed", sa.BigInteger(), nullable=False),
        sa.Column("reward_sum", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "split", "step"],
            ["step_rollouts.job_id", "step_rollouts.split", "step_rollouts.step"],
            name="fk_prompt_draw_job_id_step_rollouts",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "split", "step", "prompt_no", name="pk_prompt_draw"),
    )
    op.create_table(
        "job_prompt",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("row_index", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name="fk_job_prompt_job_id_job", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "split", "row_index", name="pk_job_prompt"),
    )
    op.execute(
        "INSERT INTO prompt_draw (job_id, split, step, prompt_no, row_index, prompt_hash, completions, scored,"
        " passed, reward_sum)"
        " SELECT job_id, split, completion.step, prompt_no, min(row_index), min(prompt_hash), count(*),"
        f" count(reward), count(*) FILTER (WHERE reward > {_PASS_ABOVE}), coalesce(least(greatest(sum(reward), -1e100), 1e100), 0)"
        " FROM completion JOIN job ON job.id = job_id GROUP BY job.id, job_id, split, completion.step, prompt_no"
    )
    op.create_index(
        "ix_prompt_draw_rows",
        "prompt_draw",
        ["job_id", "split", "row_index", "step", "prompt_no"],
        postgresql_include=["completions", "scored", "passed", "reward_sum"],
    )


def downgrade() -> None:
    op.drop_table("job_prompt")
    op.drop_table("prompt_draw")
