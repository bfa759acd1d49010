"""Projects: made, switched between, renamed, exported, deleted; and what stays in which."""

import io
import json
import tarfile
from collections.abc import Iterator

import httpx
import pytest

from tests.backend.people import made, refusal, sign_in, starter
from tests.backend.server import REWARD, Backend
from tests.backend.tenancy import MARK, Stranger


@pytest.fixture
def owner(backend: Backend) -> Iterator[httpx.Client]:
    with starter(backend) as client:
        yield client


def project(client: httpx.Client, name: str) -> str:
    return str(made(client.post("/projects", json={"name": name}))["id"])


def test_a_browser_looks_at_one_project_and_can_switch(backend: Backend, owner: httpx.Client) -> None:
    home = owner.get("/me").json()["project"]
    other = project(owner, "second")
    owner.post("/rewards", json={"name": "here", "source": REWARD})
    made(owner.post(f"/projects/{other}/switch"), 200)
    me = owner.get("/me").json()
    assert (me["project"], me["project_name"], me["role"]) == (other, "second", "owner")
    assert owner.get("/datasets").json()["data"] == []
    assert owner.get("/project/counts").json()["rewards"] == 0
    listed = {project["name"]: project for project in owner.get("/projects").json()["data"]}
    assert (listed["second"]["current"], listed["default"]["current"]) == (True, False)
    made(owner.post(f"/projects/{home}/switch"), 200)


def test_a_single_request_may_be_about_another_project(backend: Backend, owner: httpx.Client) -> None:
    other = project(owner, "by header")
    headers = {"x-reinforge-project": other}
    assert owner.get("/me", headers=headers).json()["project"] == other
    assert owner.get("/me").json()["project"] != other


def test_who_is_not_of_a_project_does_not_find_it(backend: Backend, owner: httpx.Client) -> None:
    other = project(owner, "closed")
    member = made(backend.api.post("/members", json={"name": "Outsider", "role": "owner"}))
    with sign_in(backend, member["url"]) as client:
        assert [project["name"] for project in client.get("/projects").json()["data"]] == ["default"]
        for answer in (
            client.post(f"/projects/{other}/switch"),
            client.patch(f"/projects/{other}", headers={"if-match": "*"}, json={"name": "mine"}),
            client.get(f"/projects/{other}/export"),
            client.request("DELETE", f"/projects/{other}", json={"name": "closed"}),
            client.get("/jobs", headers={"x-reinforge-project": other}),
        ):
            assert refusal(answer) == (404, "project_not_found")


def test_a_key_is_of_one_project(backend: Backend, owner: httpx.Client) -> None:
    other = made(owner.post("/projects", json={"name": "with a key", "with_key": True}))
    with backend.client(other["key"], "/api/v1") as client:
        assert client.get("/me").json()["project"] == other["id"]
    with backend.add_key("owner") as plain:
        answer = plain.get("/jobs", headers={"x-reinforge-project": other["id"]})
        assert refusal(answer) == (404, "project_not_found")
        assert refusal(plain.post("/projects", json={"name": "by a key"})) == (403, "not_administrator")
    # The key of whoever runs the platform acts for any project that is named.
    named = backend.api.get("/me", headers={"x-reinforge-project": other["id"]}).json()
    assert named["project"] == other["id"]


def test_an_owner_of_one_project_makes_another_and_owns_it(backend: Backend) -> None:
    member = made(backend.api.post("/members", json={"name": "Founder", "role": "owner"}))
    with sign_in(backend, member["url"]) as client:
        id = project(client, "founded")
        assert client.get("/me", headers={"x-reinforge-project": id}).json()["role"] == "owner"
    editor = made(backend.api.post("/members", json={"name": "Not a founder"}))
    with sign_in(backend, editor["url"]) as client:
        assert refusal(client.post("/projects", json={"name": "x"})) == (403, "not_owner")


def test_names_of_projects_are_unique(backend: Backend, owner: httpx.Client) -> None:
    id = project(owner, "taken")
    assert refusal(owner.post("/projects", json={"name": " taken "})) == (409, "project_exists")
    assert refusal(owner.patch(f"/projects/{id}", headers={"if-match": "*"}, json={"name": "default"})) == (
        409,
        "project_exists",
    )
    assert (
        made(owner.patch(f"/projects/{id}", headers={"if-match": "*"}, json={"name": "renamed"}), 200)["name"]
        == "renamed"
    )


def test_an_address_for_a_user_of_other_projects_is_not_the_project_owners_to_make(
    backend: Backend, owner: httpx.Client
) -> None:
    """It would let them in as that user, in the other projects too."""
    guest = made(backend.api.post("/members", json={"name": "Of two"}))
    elsewhere = made(owner.post("/projects", json={"name": "elsewhere", "with_key": True}))
    invited = made(owner.post("/invitations", json={}, headers={"x-reinforge-project": elsewhere["id"]}))
    with sign_in(backend, guest["url"]) as client:
        token = invited["url"].partition("token=")[2]
        assert (
            made(client.post("/invitations/accept", json={"token": token}), 200)["project"] == elsewhere["id"]
        )
    with backend.add_key("owner") as plain:
        for path in ("sign-in-link", "password-reset"):
            answer = plain.post(f"/members/{guest['id']}/{path}")
            assert refusal(answer) == (403, "user_of_other_projects")
        [starter_id] = [
            member["id"] for member in plain.get("/members").json()["data"] if member["name"] == "owner"
        ]
        answer = plain.post(f"/members/{starter_id}/sign-in-link")
        assert refusal(answer) == (403, "user_of_other_projects")
    assert owner.post(f"/members/{guest['id']}/sign-in-link").status_code == 200


def test_a_member_removed_from_one_project_stays_in_the_other(backend: Backend, owner: httpx.Client) -> None:
    guest = made(backend.api.post("/members", json={"name": "Stays"}))
    other = project(owner, "stays here")
    invited = made(owner.post("/invitations", json={}, headers={"x-reinforge-project": other}))
    with sign_in(backend, guest["url"]) as client:
        token = invited["url"].partition("token=")[2]
        made(client.post("/invitations/accept", json={"token": token}), 200)
        home = backend.api.get("/me").json()["project"]
        made(client.post(f"/projects/{home}/switch"), 200)
        assert backend.api.delete(f"/members/{guest['id']}").status_code == 204
        assert client.get("/me").json()["project"] == other
        assert refusal(client.get("/jobs", headers={"x-reinforge-project": home}))[0] == 404


@pytest.fixture(scope="module")
def stranger(rpc_backend: Backend) -> Iterator[Stranger]:
    other = Stranger(rpc_backend)
    yield other
    other.api.close()
    other.us.close()


class TestExport:
    def test_everything_is_there_and_no_secret_is(self, stranger: Stranger) -> None:
        api = stranger.api
        api.patch(
            f"/judges/{stranger.things['judges']}",
            headers={"if-match": "*"},
            json={"api_key": "sk-secret-of-a-judge"},
        )
        answer = api.get(f"/projects/{stranger.project}/export")
        assert answer.status_code == 200
        assert f'filename="{MARK}.tar"' in answer.headers["content-disposition"]
        with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
        things = stranger.things
        assert json.loads(files["project.json"])["name"] == MARK
        dataset = f"datasets/{things['datasets']}"
        assert files[f"{dataset}/data.jsonl"] == api.get(f"/{dataset}/content").content
        assert files[f"rewards/{things['rewards']}/revision-1.py"].decode() == REWARD
        [case] = files[f"rewards/{things['rewards']}/golden-cases.jsonl"].splitlines()
        assert json.loads(case)["expect"] == {"value": 1.0}
        job = json.loads(files[f"jobs/{things['jobs']}/job.json"])
        assert (job["status"], job["spec"]["limits"]["steps"]) == ("succeeded", 3)
        metrics = [json.loads(line) for line in files[f"jobs/{things['jobs']}/metrics.jsonl"].splitlines()]
        assert ("reward/mean", 3, 0.3) in [(point["key"], point["step"], point["value"]) for point in metrics]
        with tarfile.open(fileobj=io.BytesIO(files[f"adapters/{things['adapters']}/adapter.tar"])) as adapter:
            assert adapter.getnames() == ["adapter_config.json"]
        assert json.loads(files["judges.json"])[0]["model"] == MARK
        assert "missing.json" not in files
        everything = answer.content
        for secret in self._secrets(stranger):
            assert secret.encode() not in everything

    def _secrets(self, stranger: Stranger) -> list[str]:
        backend = stranger.backend
        secrets = ["sk-secret-of-a-judge", stranger.api.headers["authorization"].removeprefix("Bearer ")]
        for query in (
            "SELECT sha256 FROM api_key",
            "SELECT sha256 FROM sign_in_token",
            "SELECT key_sealed FROM judge WHERE key_sealed IS NOT NULL",
            "SELECT token_sha256 FROM attempt",
        ):
            secrets += [str(row[0]) for row in backend.sql(query)]
        return secrets

    def test_it_is_for_owners(self, stranger: Stranger) -> None:
        with stranger.backend.add_key("editor", project=MARK) as editor:
            assert refusal(editor.get(f"/projects/{stranger.project}/export")) == (403, "not_owner")


class TestDeletion:
    """In order: what is refused, then what goes."""

    def test_it_is_refused_until_it_is_meant_and_nothing_runs(self, stranger: Stranger) -> None:
        path = f"/projects/{stranger.project}"
        ask = stranger.api.request
        assert refusal(ask("DELETE", path, json={"name": "something else"})) == (422, "name_differs")
        busy = ask("DELETE", path, json={"name": MARK})
        assert refusal(busy) == (409, "project_busy")
        assert stranger.running in busy.json()["error"]["message"]
        with stranger.backend.add_key("editor", project=MARK) as editor:
            assert refusal(editor.request("DELETE", path, json={"name": MARK})) == (403, "not_owner")
        assert stranger.api.get(f"/jobs/{stranger.running}").status_code == 200

    def test_then_all_of_it_goes_and_nothing_else(self, stranger: Stranger) -> None:
        backend = stranger.backend
        other = backend.add_dataset()
        backend.sql("UPDATE job SET status = 'cancelled', lease_until = NULL WHERE id = %s", stranger.running)
        objects = backend.sql(
            "SELECT sha256 FROM dataset WHERE project_id = %s UNION SELECT sha256 FROM adapter WHERE project_id = %s"
            " UNION SELECT s.sha256 FROM step_rollouts s JOIN job j ON j.id = s.job_id WHERE j.project_id = %s",
            *[stranger.project] * 3,
        )
        assert len(objects) == 3
        answer = stranger.api.request("DELETE", f"/projects/{stranger.project}", json={"name": MARK})
        assert answer.status_code == 204, answer.text
        assert stranger.api.get("/me").status_code == 401, "its keys are gone"
        assert backend.api.get(f"/datasets/{other}").status_code == 200
        for (table,) in backend.sql(
            "SELECT table_name FROM information_schema.columns WHERE column_name = 'project_id'"
            " AND table_schema = 'public'"
        ):
            assert backend.sql(f"SELECT 1 FROM {table} WHERE project_id = %s", stranger.project) == [], table
        held = {*stranger.things.values(), stranger.checkpoint, stranger.running} - {stranger.project}
        for (table,) in backend.sql(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        ):
            rows = str(backend.sql(f'SELECT t::text FROM "{table}" t'))
            assert [thing for thing in held if thing in rows] == [], f"{table} still names what is gone"
        backend.sql("UPDATE stored_object SET touched_at = now() - interval '2 days'")
        backend.sweep_objects()
        left = {row[0] for row in backend.sql("SELECT sha256 FROM stored_object")}
        assert left.isdisjoint({row[0] for row in objects})
        assert backend.api.get(f"/datasets/{other}/content").status_code == 200


def test_the_last_project_stays(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    with Backend(database_url, tmp_path_factory.mktemp("home")) as alone:
        id = alone.api.get("/project").json()["id"]
        answer = alone.api.request("DELETE", f"/projects/{id}", json={"name": "default"})
        assert refusal(answer) == (409, "last_project")
