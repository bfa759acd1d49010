"""Migrations on a database with rows in every table: down to the first, one by one, and up again."""

import datetime
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory
from psycopg.types.json import Jsonb
from sqlalchemy.dialects.postgresql import JSONB

from backend.data.migrate import alembic_config
from backend.models import Base

Database = psycopg.Connection[tuple[Any, ...]]
SCORER = '{"type": "string_check"}'
SPECIAL: dict[str, dict[str, Any]] = {
    "adapter": {"deleted_at": None},
    "api_key": {"role": "owner", "scopes": None, "expires_at": None},
    "budget": {"period": "total"},
    "agent_rollout": {"state": "taken"},
    "call": {"state": "answered"},
    "deployment": {"state": "ready"},
    "evaluation": {"kind": "replay", "status": "succeeded"},
    "job": {"status": "succeeded", "purpose": "train"},
    "job_reward": {"kind": "grader", "source": None},
    "job_export": {"state": "done"},
    "mail": {"state": "sent"},
    "model_call": {"state": "answered"},
    "metric_series": {"kind": "train"},
    "reward": {"kind": "grader"},
    "reward_revision": {"kind": "grader", "source": SCORER},
    "stored_object": {"state": "stored"},
    "sweep": {"status": "running"},
    "sweep_trial": {"state": "submitted", "ended_by": None},
    "tracker": {"kind": "mlflow"},
    "upload": {"status": "completed", "part_bytes": None},
    "webhook_delivery": {"state": "delivered"},
}
"""Values of columns that take a few words only, or that a migration looks at."""
OF = {"event": {"job_id": "job"}, "metric_point": {"series_id": "metric_series"}}
"""What refers to another table without a foreign key."""
LATER = {
    "adapter_alias", "adapter_alias_change", "agent_rollout",
    "audit_entry", "browser_session", "budget", "call_chunk", "checkpoint_permission", "deployment", "evaluation",
    "evaluation_completion", "evaluation_prompt", "golden_case", "invitation", "job_change", "job_export",
    "job_object", "job_prompt", "job_share", "judge", "label", "mail", "member", "model_call", "prompt_draw",
    "sign_in_failure", "sign_in_token", "sweep", "sweep_trial", "tracker", "upload", "upload_part", "usage",
    "user_account", "webhook", "webhook_delivery", "webhook_try",
}  # fmt: skip
"""Tables that the first schema has not, or whose rows a downgrade says that it drops."""


def insert(database: Database, table: str, **values: Any) -> None:
    """A row: what is not given refers to the first row of the other table, or is anything of its column's type."""
    columns = [
        column
        for column in Base.metadata.tables[table].columns
        if column.computed is None and not column.identity
    ]
    values_by_name = referred(database, table) | SPECIAL.get(table, {}) | values
    row = [
        values_by_name[column.name] if column.name in values_by_name else anything(table, column)
        for column in columns
    ]
    packed = [
        Jsonb(value) if isinstance(column.type, JSONB) and value is not None else value
        for column, value in zip(columns, row, strict=True)
    ]
    names = ", ".join(f'"{column.name}"' for column in columns)
    marks = ", ".join("%s" for _ in columns)
    database.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})'.encode(), packed)


def referred(database: Database, table: str) -> dict[str, Any]:
    values_by_column = {column: first(database, "id", other) for column, other in OF.get(table, {}).items()}
    for constraint in Base.metadata.tables[table].foreign_key_constraints:
        for element in constraint.elements:
            values_by_column[element.parent.name] = first(
                database, element.column.name, constraint.referred_table.name
            )
    return values_by_column


def first(database: Database, column: str, table: str) -> Any:
    row = database.execute(f'SELECT "{column}" FROM "{table}" ORDER BY ctid LIMIT 1'.encode()).fetchone()
    return row[0] if row else None


def anything(table: str, column: sa.Column[Any]) -> Any:
    moment = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    values = {str: f"{table}-{column.name}", int: 1, float: 1.0, bool: True}
    values |= {datetime.datetime: moment, datetime.date: moment.date(), list: []}
    return {"some": "thing"} if isinstance(column.type, JSONB) else values[column.type.python_type]


SHAPINGS: dict[str, dict[str, Any]] = {
    "length": {"type": "weighted_sum", "soft_overlong": {"weight": 1.0}, "repetition": {"weight": 0.0}},
    "plain": {"type": "weighted_sum", "soft_overlong": {"weight": 0.0}, "kl": {"beta": 0.05}},
    "rubric": {"type": "pow3r"},
    "standardised": {"type": "mo_grpo"},
}
"""Of a job by its id."""


def awkward_rows(database: Database) -> None:
    """What an older release has no word for."""
    insert(database, "job", id="preflight", purpose="preflight", forked_from_id=None)
    insert(database, "job_reward", job_id="preflight", position=0)
    insert(database, "job", id="fork", status="queued")
    for id, shaping in SHAPINGS.items():
        insert(database, "job", id=id, resolved_spec={"algorithm": {"shaping": shaping}})
    insert(database, "reward", id="code", kind="python")
    insert(database, "reward_revision", reward_id="code", kind="python", source="def grade(): {1}")
    insert(database, "job_reward", position=2, kind="python", reward_id=None, revision=None, source="code")
    insert(database, "job_reward", position=3, reward_id=None, revision=None, source=f"\n {SCORER}")
    insert(database, "upload", id="numbered", part_bytes=5, status="refused")
    insert(database, "upload_part", id="in the bucket", upload_id="numbered", sha256=None, number=2)
    insert(database, "evaluation", id="alone", kind="stand_alone", job_id=None)
    insert(database, "base_model", key="adding", id="adding", status="adding")
    insert(database, "adapter", id="deleted", deleted_at=datetime.datetime.now(datetime.UTC))
    insert(database, "event", seq=4, count=3, data={"kind": "train", "step": [1, 2, 3], "ts": [1, 2, 3]})
    insert(database, "project", id="other", name="other")
    insert(database, "base_model", key="mdl_2", project_id="other")  # another project's, of the same name
    insert(database, "job", id="of another", model_id="base_model-id", model_key="mdl_2")
    insert(database, "member", id="mem_2", project_id="other")
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    insert(database, "api_key", id="narrow", sha256="1", scopes=["jobs:read"], administrator=False)
    insert(database, "api_key", id="ends", sha256="2", expires_at=soon, administrator=False)
    insert(database, "api_key", id="owner of one", sha256="3", administrator=False)
    insert(database, "browser_session", sha256="4", id="narrow", key_id="narrow")


def counts(database: Database) -> dict[str, int]:
    names = [table.name for table in Base.metadata.sorted_tables]
    return {
        name: database.execute(f'SELECT count(*) FROM "{name}"'.encode()).fetchall()[0][0] for name in names
    }


@pytest.fixture(scope="module")
def walked(module_database_url: str) -> Iterator[tuple[Database, dict[str, int]]]:
    """After the walk, with the numbers of rows before it."""
    with psycopg.connect(module_database_url, autocommit=True) as database:
        for table in sorted(Base.metadata.sorted_tables, key=lambda table: table.name in OF):
            insert(database, table.name)
        assert set(counts(database).values()) == {1}
        awkward_rows(database)
        before = counts(database)
        config = alembic_config(module_database_url)
        revisions = [revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()]
        for older in revisions[1:]:
            command.downgrade(config, older)
        for newer in reversed(revisions[:-1]):
            command.upgrade(config, newer)
        yield database, before


def rows(database: Database, columns: str, table: str) -> list[tuple[Any, ...]]:
    return database.execute(f"SELECT {columns} FROM {table} ORDER BY 1".encode()).fetchall()


def test_what_the_first_schema_has_is_there_again(walked: tuple[Database, dict[str, int]]) -> None:
    database, before = walked
    after = counts(database)
    lost = {name for name in before if after[name] < before[name]} - LATER
    # The pre-flight with its reward, the model that was not there yet, what was deleted, and keys that the older
    # release could not hold to their bounds.
    assert lost == {"job", "job_reward", "base_model", "adapter", "api_key"}
    jobs = {"fork": "cancelled", "job-id": "succeeded", "of another": "succeeded"} | dict.fromkeys(
        SHAPINGS, "succeeded"
    )
    assert dict(rows(database, "id, status", "job")) == jobs
    assert rows(database, "id", "base_model") == [("base_model-id",), ("mdl_2",)]
    assert rows(database, "id", "adapter") == [("adapter-id",)]
    assert after["event"] == 1 + 3  # those that shared a row are apart


def test_models_of_projects_become_everybodys_and_jobs_keep_theirs(
    walked: tuple[Database, dict[str, int]],
) -> None:
    database, _ = walked
    models = rows(database, "key, id, project_id", "base_model")
    assert models == [("base_model-id", "base_model-id", None), ("mdl_2", "mdl_2", None)]
    jobs = {id: names for id, *names in rows(database, "id, model_id, model_key", "job")}
    assert jobs["job-id"] == ["base_model-id", "base_model-id"]
    assert jobs["of another"] == ["mdl_2", "mdl_2"]


def test_jobs_whose_held_out_figures_had_shaping_in_them_are_marked(
    walked: tuple[Database, dict[str, int]],
) -> None:
    database, _ = walked
    marked = [id for id, shaped in rows(database, "id, held_out_includes_shaping", "job") if shaped]
    assert marked == ["length", "rubric"]


def test_a_grader_does_not_become_code(walked: tuple[Database, dict[str, int]]) -> None:
    database, _ = walked
    kinds = [("code", "python"), ("reward-id", "grader")]
    assert rows(database, "id, kind", "reward") == kinds
    assert rows(database, "reward_id, kind", "reward_revision") == kinds
    rewards = rows(database, "position, kind", "job_reward")
    assert rewards == [(1, "grader"), (2, "python"), (3, "grader")]


def test_no_key_may_do_more_than_before(walked: tuple[Database, dict[str, int]]) -> None:
    database, _ = walked
    unchanged = [("api_key-id", "owner", True), ("owner of one", "editor", False)]
    assert rows(database, "id, role, administrator", "api_key") == unchanged
