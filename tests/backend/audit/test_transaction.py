"""An audit entry and its change are stored together or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from backend.audit.trail import QUIET
from tests.backend.people import made, starter
from tests.backend.server import REWARD, Backend
from tests.backend.tenancy import Operation, Stranger, operations

NEVER: dict[str, str] = {
    "lookAtInvitation": "changes nothing and is nobody's: whoever holds the address looks",
    "signOut": "forgets a cookie; nobody is asked who it was",
}


@contextmanager
def no_entries(backend: Backend) -> Iterator[None]:
    """The database takes no entry of the log."""
    backend.sql(
        "CREATE FUNCTION refuse_entry() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no entries now'; END $$"
    )
    backend.sql(
        "CREATE TRIGGER refuse BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_entry()"
    )
    try:
        yield
    finally:
        backend.sql("DROP TRIGGER refuse ON audit_entry")
        backend.sql("DROP FUNCTION refuse_entry")


TABLES = ("judge", "reward", "webhook", "job", "browser_session")


@pytest.fixture(scope="module", autouse=True)
def written(backend: Backend) -> None:
    """A table of which transaction wrote which row."""
    backend.sql("CREATE TABLE written (kind text, id text, xid xid8)")
    backend.sql(
        "CREATE FUNCTION keep_xid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO written VALUES (TG_TABLE_NAME, NEW.id, pg_current_xact_id()); RETURN NULL; END $$"
    )
    for table in TABLES:
        changes = f"AFTER INSERT OR UPDATE ON {table}"
        backend.sql(f"CREATE TRIGGER keep {changes} FOR EACH ROW EXECUTE FUNCTION keep_xid()")
    backend.sql("CREATE TRIGGER keep AFTER INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION keep_xid()")


def together(backend: Backend, table: str, id: str, action: str) -> bool:
    """Whether a transaction that wrote the row added the entry of the action."""
    rows = backend.sql(
        "SELECT 1 FROM written t JOIN written a ON a.kind = 'audit_entry' AND a.xid = t.xid"
        " JOIN audit_entry e ON e.id = a.id WHERE t.kind = %s AND t.id = %s AND e.action = %s",
        table,
        id,
        action,
    )
    return bool(rows)


def test_entry_and_change_are_of_one_transaction(rpc_backend: Backend) -> None:
    api = rpc_backend.api
    judge = made(api.post("/judges", json={"name": "one", "base_url": "http://127.0.0.1:9/v1", "model": "m"}))
    reward = made(api.post("/rewards", json={"name": "one", "source": REWARD}))
    hook = made(api.post("/webhooks", json={"url": "http://93.184.215.14/hook"}))
    job = rpc_backend.create_job()
    body = {"source": REWARD + "# another\n"}
    made(api.post(f"/rewards/{reward['id']}/revisions", json=body, headers={"if-match": "*"}))
    made(api.patch(f"/webhooks/{hook['id']}", json={"description": "x"}, headers={"if-match": "*"}), 200)
    made(api.post(f"/jobs/{job}/cancel"), 200)
    pairs = [
        ("judge", judge["id"], "createJudge"),
        ("reward", reward["id"], "createReward"),
        ("reward", reward["id"], "createRewardRevision"),
        ("webhook", hook["id"], "createWebhook"),
        ("webhook", hook["id"], "changeWebhook"),
        ("job", job, "createJob"),
        ("job", job, "cancelJob"),
    ]
    assert [pair for pair in pairs if not together(rpc_backend, *pair)] == []


def test_a_sign_in_is_noted_with_its_session(backend: Backend) -> None:
    with starter(backend) as browser:
        [session] = [
            entry["id"] for entry in made(browser.get("/me/sessions"), 200)["data"] if entry["current"]
        ]
    assert together(backend, "browser_session", session, "signIn")


def test_a_change_that_cannot_be_noted_is_not_made(rpc_backend: Backend) -> None:
    api = rpc_backend.api
    with no_entries(rpc_backend):
        answers = {
            "key": api.post("/keys", json={"name": "unnoted"}),
            "judge": api.post(
                "/judges", json={"name": "unnoted", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
            ),
            "reward": api.post("/rewards", json={"name": "unnoted", "source": REWARD}),
            "webhook": api.post(
                "/webhooks", json={"url": "http://93.184.215.14/hook", "description": "unnoted"}
            ),
            "dataset": api.post("/datasets", files={"file": ("unnoted", b'{"prompt": "1"}\n')}),
            "job": api.post("/jobs", json=rpc_backend.spec(name="unnoted")),
        }
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 500)
    for table, column in (
        ("api_key", "name"), ("judge", "name"), ("reward", "name"), ("webhook", "description"),
        ("dataset", "name"), ("job", "name"),
    ):  # fmt: skip
        assert rpc_backend.sql(f"SELECT 1 FROM {table} WHERE {column} = 'unnoted'") == [], table


def call_and_count(stranger: Stranger, operation: Operation) -> Any:
    before = stranger.backend.sql("SELECT count(*) FROM audit_entry WHERE action = %s", operation.id)
    answer = stranger.ask(operation, stranger.api)
    after = stranger.backend.sql("SELECT count(*) FROM audit_entry WHERE action = %s", operation.id)
    return answer, after[0][0] - before[0][0]


def test_every_operation_that_changes_something_leaves_one_entry(rpc_backend: Backend) -> None:
    """Made from the OpenAPI document; what is refused, or changes nothing, leaves none."""
    stranger = Stranger(rpc_backend)
    wrong, noted = {}, 0
    todo = [
        operation
        for operation in operations(rpc_backend)
        if operation.method != "get" and operation.id not in NEVER
    ]
    for operation in sorted(todo, key=lambda one: (one.method == "delete", one.id == "deleteProject")):
        try:
            answer, entries = call_and_count(stranger, operation)
        except KeyError:
            continue
        expected = int(answer.status_code < 400 and operation.id not in QUIET)
        noted += expected
        if entries != expected:
            wrong[operation.id] = (answer.status_code, entries)
    assert wrong == {}
    assert noted > 25


def test_an_answer_that_is_sent_again_is_noted_once(rpc_backend: Backend) -> None:
    body = {"name": "twice", "source": REWARD}
    for _ in range(2):
        made(rpc_backend.api.post("/rewards", json=body, headers={"idempotency-key": "twice"}))
    [(count,)] = rpc_backend.sql(
        "SELECT count(*) FROM audit_entry WHERE action = 'createReward' AND details->>'name' = 'twice'"
    )
    assert count == 1


@pytest.mark.parametrize("field", ["target", "details"])
def test_what_a_request_commits_before_its_answer_is_complete_too(rpc_backend: Backend, field: str) -> None:
    job = rpc_backend.create_job(name="complete")
    [(target, details)] = rpc_backend.sql(
        "SELECT target, details FROM audit_entry WHERE action = 'createJob' AND details->>'name' = 'complete'"
        " ORDER BY created_at DESC LIMIT 1"
    )
    assert {"target": target, "details": details["name"]}[field] == {"target": job, "details": "complete"}[
        field
    ]
