"""Requests and results of each method of the client."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reinforge
from reinforge.client import Reinforge
from reinforge.evaluation.calibration import calibrate
from reinforge.schemas.evaluations import LabelCreate
from tests.reinforge.cli.test_commands import DATASET, NOW
from tests.support.stub_server import Answer, StubServer

KEY = {"id": "key_1", "name": "k", "prefix": "rf-", "role": "editor", "created_at": NOW}
MEMBER = {"id": "mem_1", "user": "usr_1", "name": "Ada", "role": "editor", "created_at": NOW}
INVITATION = {"id": "inv_1", "role": "editor", "created_at": NOW, "expires_at": NOW}
ENTRY = {"id": "aud_1", "created_at": NOW, "actor": "usr_1", "actor_name": "Ada", "action": "createJob"}
WORKER = {
    "id": "wrk_1", "kind": "trainer", "hostname": "h", "online": True, "jail": "L", "device": None, "version": "1",
    "last_seen_at": NOW,
}  # fmt: skip
LABEL = {"split": "train", "step": 1, "prompt_no": 0, "sample_no": 2, "right": True, "created_at": NOW}
LENGTHS = {"counted": 1, "total": 1, "min": 1, "median": 1, "p90": 1, "max": 1, "longest_row": 0, "bins": []}
HEAD = {"prompt_no": 0, "prompt_hash": "h", "row_index": 0, "prompt": "1+1="}
Ask = Callable[[Reinforge], Any]


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.mark.parametrize(
    ("path", "item", "ask"),
    [
        ("/keys", KEY, lambda client: client.keys.list()),
        ("/members", MEMBER, lambda client: client.members.list()),
        ("/invitations", INVITATION, lambda client: client.invitations.list()),
        ("/audit", ENTRY, lambda client: client.audit.list()),
    ],
    ids=["keys", "members", "invitations", "audit"],
)
def test_a_list_has_what_is_on_the_second_page_too(
    stub: StubServer, path: str, item: dict[str, Any], ask: Ask
) -> None:
    first = {"data": [item] * 100, "has_more": True, "next_cursor": "c"}
    stub.on("GET", path, Answer(200, first), Answer(200, {"data": [item | {"id": "last"}]}))
    with Reinforge(stub.url, "k") as client:
        items = list(ask(client))
    assert (len(items), items[-1].id) == (101, "last")
    assert [request.query for request in stub.requests] == ["limit=100", "limit=100&after=c"]


CALLS: list[tuple[str, str, Any, Ask, str | dict[str, Any]]] = [
    ("GET", "/audit", {"data": [ENTRY]}, lambda c: next(c.audit.list("job Ada")).action, "limit=100&q=job+Ada"),
    ("GET", "/workers", {"data": [WORKER]}, lambda c: c.workers.list()[0].kind, ""),
    ("POST", "/invitations", INVITATION | {"url": "u"},
     lambda c: c.invitations.create("viewer", note="Bob", expires_in_days=2).url,
     {"role": "viewer", "note": "Bob", "expires_in_days": 2}),
    ("POST", "/datasets/file-1/render", {"data": [], "offset": 2, "total": 3},
     lambda c: c.datasets.render("file-1", "m", offset=2, system_prompt="s").total,
     {"model": "m", "offset": 2, "limit": 10, "system_prompt": "s"}),
    ("POST", "/datasets/file-1/lengths", LENGTHS, lambda c: c.datasets.lengths("file-1", "m", max_rows=9).p90,
     {"model": "m", "max_rows": 9}),
    ("GET", "/datasets/file-1/split", {"seed": 3, "train": 1, "held_out": 1, "held_out_rows": [1]},
     lambda c: c.datasets.split("file-1", seed=3, split_by="prompt").held_out_rows, "seed=3&split_by=prompt"),
    ("GET", "/jobs/ftjob-1/groups", {"data": [HEAD], "step": 4}, lambda c: c.jobs.groups("ftjob-1", step=4).data,
     "step=4&split=train"),
    ("GET", "/jobs/ftjob-1/prompts", {"data": [], "total": 4, "prompts": 9, "pass_above": 0.5},
     lambda c: c.jobs.prompts("ftjob-1", category="won", sort="-change", limit=3).total,
     "split=train&category=won&sort=-change&limit=3"),
    ("GET", "/jobs/ftjob-1/labels", {"data": [LABEL]}, lambda c: c.jobs.labels("ftjob-1")[0].right, ""),
    ("POST", "/jobs/ftjob-1/labels", {"data": [LABEL]},
     lambda c: c.jobs.label("ftjob-1", [LabelCreate(step=1, prompt_no=0, sample_no=2, right=True)])[0].step,
     {"labels": [{"split": "train", "step": 1, "prompt_no": 0, "sample_no": 2, "right": True}]}),
    ("POST", "/jobs/check", {"ok": False, "problems": [{"message": "no"}]},
     lambda c: c.jobs.check({"model": "m"}, quick=True).problems[0].message, {"model": "m"}),
    ("POST", "/jobs/defaults", {"data": [], "estimate_note": "No estimate yet."},
     lambda c: c.jobs.defaults({"model": "m"}).estimate_note, {"model": "m"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "answer", "ask", "sent"), CALLS, ids=[f"{call[0]} {call[1]}" for call in CALLS]
)
def test_each_method_sends_its_request(
    stub: StubServer, method: str, path: str, answer: Any, ask: Ask, sent: str | dict[str, Any]
) -> None:
    stub.on(method, path, Answer(200, answer))
    with Reinforge(stub.url, "k") as client:
        assert ask(client) is not None
    [request] = stub.requests
    assert (request.query if method == "GET" else request.json) == sent


def test_calibration(stub: StubServer) -> None:
    body = {"job": "ftjob-1", "reward": "r", "pass_above": 0.5, "disagreements": [], "unlabelled": []}
    body["report"] = calibrate([], pass_above=0.5).model_dump()
    stub.on("GET", "/jobs/ftjob-1/calibration", Answer(200, body))
    with Reinforge(stub.url, "k") as client:
        assert client.jobs.calibration("ftjob-1", reward="r").reward == "r"
    assert stub.requests[0].query == "reward=r"


def test_a_dataset_comes_back_as_it_was_uploaded_and_is_renamed(stub: StubServer, tmp_path: Path) -> None:
    stub.on("GET", "/datasets/file-1/content", Answer(200, b'{"prompt": "1"}\n'))
    stub.on("GET", "/datasets/file-1", Answer(200, DATASET | {"etag": '"seen"'}))
    stub.on("PATCH", "/datasets/file-1", Answer(200, DATASET | {"name": "other"}))
    with Reinforge(stub.url, "k") as client:
        path = client.datasets.download("file-1", tmp_path / "rows.jsonl")
        assert path.read_text() == '{"prompt": "1"}\n'
        assert client.datasets.change("file-1", name="other").name == "other"
    assert (
        next(request for request in stub.requests if request.method == "PATCH").headers["if-match"]
        == '"seen"'
    )


def test_an_invitation_is_withdrawn(stub: StubServer) -> None:
    stub.on("DELETE", "/invitations/inv_1", Answer(204, b""))
    with Reinforge(stub.url, "k") as client:
        client.invitations.withdraw("inv_1")
    assert [request.method for request in stub.requests] == ["DELETE"]


def test_the_clients_are_names_of_the_package_and_cost_nothing_until_used() -> None:
    code = (
        "import sys, reinforge; assert 'httpx' not in sys.modules; from reinforge import AsyncReinforge, Reinforge; "
        "from reinforge import client; assert (client.Reinforge, client.AsyncReinforge) == (Reinforge, AsyncReinforge)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Client'"):
        _ = reinforge.Client
