"""Completions: rows for lists and search. A Parquet object per step holds the rest."""

from sqlalchemy import Computed, ForeignKey, ForeignKeyConstraint, Index, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base

_NO_WORD = (
    r"[\u0001-\u0008\u000b\u000c\u000e-\u001f!-/:-@\[-`{-\u00bf\u00d7\u00f7\u2000-\u2bff"
    r"\u3000-\u303f\ufe30-\ufe4f\uff00-\uff0f\U0001f000-\U0001faff]+"
)
_WORDS = f"to_tsvector('simple'::regconfig, regexp_replace(text, '{_NO_WORD}', ' ', 'g'))"


class StepRollouts(Base):
    """Row group n of the Parquet object holds prompt n."""

    __tablename__ = "step_rollouts"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt: Mapped[int]
    sha256: Mapped[str] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    count: Mapped[int]
    revisions: Mapped[dict[str, str]]


class Completion(Base):
    __tablename__ = "completion"
    __table_args__ = (
        ForeignKeyConstraint(
            ["job_id", "split", "step"],
            ["step_rollouts.job_id", "step_rollouts.split", "step_rollouts.step"],
            ondelete="CASCADE",
        ),
        Index("ix_completion_prompt", "job_id", "prompt_hash"),
        # Numbers are filtered, sorted and counted without touching the rows, whose texts make the table large.
        Index(
            "ix_completion_search",
            *("job_id", "step", "split", "prompt_no", "sample_no"),
            postgresql_include=["reward", "advantage", "length", "finish_reason"],
        ),
        # A narrow band of rewards among a million, without looking at all of them.
        Index(
            "ix_completion_reward",
            *("job_id", "reward"),
            postgresql_include=["step", "split", "prompt_no", "sample_no", "length"],
        ),
        # As the search index, for completions with calls of tools; searches by tool ask for `tool_calls > 0` too.
        Index(
            "ix_completion_calls",
            *("job_id", "step", "split", "prompt_no", "sample_no"),
            postgresql_include=["reward", "length", "turns", "finish_reason", "call_keys"],
            postgresql_where=text("tool_calls > 0"),
        ),
        # Completions with a rare key; for a common one, the planner reads the index above until it has enough.
        Index(
            "ix_completion_call_keys",
            "call_keys",
            postgresql_using="gin",
            postgresql_where=text("tool_calls > 0"),
        ),
        Index("ix_completion_failed", "job_id", "step", postgresql_where=text("error IS NOT NULL")),
        Index("ix_completion_words", "words", postgresql_using="gin"),
    )

    job_id: Mapped[str] = mapped_column(primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    prompt_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sample_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    row_index: Mapped[int]
    prompt_hash: Mapped[str]
    reward: Mapped[float | None]
    advantage: Mapped[float | None]
    length: Mapped[int]
    finish_reason: Mapped[str]
    error: Mapped[str | None]
    text: Mapped[str]
    """First 2,000 characters of the completion."""
    turns: Mapped[int] = mapped_column(server_default="1")
    tool_calls: Mapped[int] = mapped_column(server_default="0")
    tool_errors: Mapped[int] = mapped_column(server_default="0")
    call_keys: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    """Tools and statuses of the tool calls (`reinforge.tools.call_keys`)."""
    words: Mapped[str] = mapped_column(
        TSVECTOR, Computed(_WORDS, persisted=True), deferred=True, deferred_raiseload=True
    )
    """Words of `text`; symbols count as spaces. A migration sets STORAGE MAIN: otherwise the planner would
    scan all rows even for a rare word.
    """


class PromptDraw(Base):
    __tablename__ = "prompt_draw"
    __table_args__ = (
        ForeignKeyConstraint(
            ["job_id", "split", "step"],
            ["step_rollouts.job_id", "step_rollouts.split", "step_rollouts.step"],
            ondelete="CASCADE",
        ),
        # In the order in which draws are grouped by dataset row, without looking at the rows themselves.
        Index(
            "ix_prompt_draw_rows",
            *("job_id", "split", "row_index", "step", "prompt_no"),
            postgresql_include=["completions", "scored", "passed", "reward_sum"],
        ),
    )

    job_id: Mapped[str] = mapped_column(primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    prompt_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    row_index: Mapped[int]
    prompt_hash: Mapped[str]
    completions: Mapped[int]
    scored: Mapped[int]
    passed: Mapped[int]
    """Number of completions with a reward above the job's `evaluation.pass_above`."""
    reward_sum: Mapped[float]


class JobPrompt(Base):
    __tablename__ = "job_prompt"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    row_index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    prompt: Mapped[str]
    answer: Mapped[str | None]
