"""events that share rows; events and metric points without foreign keys, which were looked up for each of them

Revises: 0020
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0021"
down_revision: str | Sequence[str] | None = "0020"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

OF = (("event", "job_id", "job"), ("metric_point", "series_id", "metric_series"))
"""Table, its column, and the table whose deleted rows it follows."""


def upgrade() -> None:
    op.add_column("event", sa.Column("count", sa.BigInteger(), nullable=False, server_default="1"))
    op.alter_column("event", "count", server_default=None)
    for table, column, owner in OF:
        op.drop_constraint(f"fk_{table}_{column}", table, type_="foreignkey")
        # Written under the owner's lock, so none can come after the owner has gone.
        op.execute(
            f"CREATE FUNCTION delete_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" DELETE FROM {table} WHERE {column} IN (SELECT id FROM gone); RETURN NULL; END $$"
        )
        op.execute(
            f"CREATE TRIGGER delete_{table} AFTER DELETE ON {owner} REFERENCING OLD TABLE AS gone"
            f" FOR EACH STATEMENT EXECUTE FUNCTION delete_{table}()"
        )


def downgrade() -> None:
    for table, column, owner in OF:
        op.execute(f"DROP TRIGGER delete_{table} ON {owner}")
        op.execute(f"DROP FUNCTION delete_{table}()")
        name = f"fk_{table}_{column}"
        op.create_foreign_key(name, table, owner, [column], ["id"], ondelete="CASCADE")
    op.execute(APART)
    op.drop_column("event", "count")


APART = """
WITH shared AS (DELETE FROM event WHERE count > 1 RETURNING *)
INSERT INTO event (job_id, seq, count, type, data, step, ts)
SELECT job_id, seq - count + 1 + place, 1, type,
       jsonb_build_object(
           'kind', data -> 'kind', 'step', data -> 'step' -> place, 'ts', data -> 'ts' -> place,
           'values', coalesce(
               (SELECT jsonb_object_agg(key, listed -> place) FROM jsonb_each(data -> 'values') AS of (key, listed)), '{}'
           )
       ),
       (data -> 'step' ->> place)::bigint, ts
FROM shared CROSS JOIN LATERAL (SELECT n::int AS place FROM generate_series(0, count - 1) AS n) AS each
"""
