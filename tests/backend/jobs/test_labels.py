"""Name, notes, tags and archive of jobs; their default names."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.backend.jobs.lifecycle.test_fork import trained
from tests.backend.server import Backend

pytestmark = pytest.mark.usefixtures("rpc_backend")


def update(backend: Backend, id: str, **body: Any) -> Any:
    response = backend.api.patch(f"/jobs/{id}", json=body, headers={"if-match": "*"})
    assert response.status_code == 200, response.text
    return response.json()


def refusal(backend: Backend, id: str, **body: Any) -> tuple[int, str, str | None]:
    response = backend.api.patch(f"/jobs/{id}", json=body, headers={"if-match": "*"})
    error = response.json()["error"]
    return response.status_code, error["code"], error["param"]


def test_a_job_is_renamed_and_noted_and_its_specification_stays(backend: Backend) -> None:
    id = backend.create_job(name="Sums", metadata={"suffix": "sums"})
    before = backend.job(id)
    changed = update(backend, id, name="  Sums, best ", notes="# Why\n*lr* too high")
    assert (changed["name"], changed["notes"]) == ("Sums, best", "# Why\n*lr* too high")
    after = backend.job(id)
    assert (after["spec"], after["resolved_spec"]) == (before["spec"], before["resolved_spec"])
    assert update(backend, id, notes="")["notes"] == ""
    assert backend.job(id)["name"] == "Sums, best"


def test_tags_are_replaced_added_and_removed(backend: Backend) -> None:
    id = backend.create_job()
    assert update(backend, id, tags=["b", " a ", "b"])["tags"] == ["b", "a"]
    assert update(backend, id, add_tags=["c", "a"], remove_tags=["b"])["tags"] == ["a", "c"]
    assert update(backend, id, name="Other")["tags"] == ["a", "c"]
    assert update(backend, id, tags=[])["tags"] == []


def test_bad_input_changes_nothing(backend: Backend) -> None:
    id = backend.create_job(name="Sums")
    update(backend, id, tags=[f"t{n}" for n in range(20)])
    assert refusal(backend, id, name="New", add_tags=["one more"]) == (422, "too_many_tags", "add_tags")
    for body in ({"name": " "}, {"name": "x" * 201}, {"notes": "x" * 20_001}, {"tags": ["a,b"]}, {"tags": [""]},
                 {"tags": ["x" * 51]}, {"status": "failed"}):  # fmt: skip
        assert refusal(backend, id, **({"add_tags": []} | body))[0] == 422, body
    job = backend.job(id)
    assert (job["name"], len(job["tags"]), job["notes"]) == ("Sums", 20, "")


def test_archived_jobs_are_hidden_until_they_are_listed_or_unarchived(backend: Backend) -> None:
    data = {"dataset": backend.add_dataset()}
    id, other = backend.create_job(data=data), backend.create_job(data=data)
    assert refusal(backend, id, archived=True, name="New") == (409, "job_not_ended", "archived")
    assert backend.job(id)["name"] != "New"
    backend.api.post(f"/jobs/{id}/cancel")
    assert update(backend, id, archived=True)["archived"] is True

    def ids(**query: str) -> set[str]:
        return {job["id"] for job in backend.api.get("/jobs", params=data | query).json()["data"]}

    assert (ids(), ids(archived="only"), ids(archived="include")) == ({other}, {id}, {id, other})
    assert update(backend, id, archived=False)["archived"] is False
    assert ids() == {id, other}


def test_viewers_change_nothing(backend: Backend) -> None:
    id = backend.create_job(name="Sums")
    with backend.add_key("viewer") as viewer:
        assert viewer.patch(f"/jobs/{id}", json={"name": "New"}).status_code == 403
    assert backend.job(id)["name"] == "Sums"


def test_notes_that_somebody_else_has_changed_are_not_overwritten(backend: Backend) -> None:
    id = backend.create_job(name="Sums")
    read = backend.job(id)
    update(backend, id, notes="first")
    body, headers = {"notes": "second"}, {"if-match": read["etag"]}
    response = backend.api.patch(f"/jobs/{id}", json=body, headers=headers)
    assert (response.status_code, response.json()["error"]["current"]["notes"]) == (412, "first")
    assert backend.job(id)["notes"] == "first"


def named_data(backend: Backend, name: str) -> dict[str, str]:
    id = backend.add_dataset()
    backend.sql("UPDATE dataset SET name = %s WHERE id = %s", name, id)
    return {"dataset": id}


def test_default_names_say_what_differs(backend: Backend) -> None:
    data = named_data(backend, "sums60")

    def name(**spec: Any) -> str:
        made: str = backend.job(backend.create_job(name=None, data=data, **spec))["name"]
        return made

    plain = name()
    assert plain == "tiny on sums60"
    rate = {"optimizer": {"learning_rate": 0.02}}
    assert name(**rate) == f"{plain}, lr 0.02"
    assert name(**rate, seed=7) == f"{plain}, lr 0.02, seed 7"
    assert [name(), name()] == [f"{plain} 2", f"{plain} 3"]
    assert name(**rate) == f"{plain}, lr 0.02 2"
    chosen = {"name": plain}  # a name that was chosen stays
    assert backend.job(backend.create_job(data=data, **chosen))["name"] == plain


def test_a_free_name_is_used_again_after_a_rename(backend: Backend) -> None:
    data = named_data(backend, "sums of two")
    first = backend.create_job(name=None, data=data)
    plain = backend.job(first)["name"]
    update(backend, first, name="The first")
    assert backend.job(backend.create_job(name=None, data=data))["name"] == plain


def test_a_second_fork_has_a_name_of_its_own(backend: Backend) -> None:
    job, _ = trained(backend, name="Source")

    def fork(**body: Any) -> str:
        made: str = backend.api.post(f"/jobs/{job}/fork", json=body).json()["name"]
        return made

    assert fork() == "Source, from step 4"
    assert fork(set={"optimizer.learning_rate": 0.02}) == "Source, from step 4, lr 0.02"
    assert [fork(), fork(name="Mine"), fork(name="Mine")] == ["Source, from step 4 2", "Mine", "Mine"]


def test_jobs_created_together_have_different_names(backend: Backend) -> None:
    data = named_data(backend, "sums at once")
    with ThreadPoolExecutor(3) as threads:  # a call of more at once could wait for longer than its 20 s
        ids = list(threads.map(lambda _: backend.create_job(name=None, data=data), range(9)))
    assert len({backend.job(id)["name"] for id in ids}) == 9
