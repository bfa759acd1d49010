"""`reinforge push` with the real client of the hub, and the model card."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from reinforge.cli.publish.card import CardFacts, write_card
from reinforge.diagnosis.verdict import Change
from tests.backend.server import Backend
from tests.support.command_line import Cli
from tests.support.hub_uploads import TOKEN, HubUploads
from tests.worker.policy.test_merge import write_adapter
from worker.starter import CHECKPOINT
from worker.training.checkpoint.archive import pack

WEIGHTS = b"weights of the adapter"
FACTS = CardFacts(
    name="sums", base="org/base", revision="abc123", base_sha256="ab" * 32, licence="Apache-2.0", job="ftjob-1",
    step=20,    steps=40, data="additions (512 rows)", rewards=["right × 1"], algorithm="GRPO", before=0.5, after=0.75,
    change=Change(value=0.25, low=0.1, high=0.4), held_out_rows=64, versions={"torch": "2.13.0"},
)  # fmt: skip


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubUploads]:
    server = HubUploads()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(
        "huggingface_hub.constants.HF_HUB_DISABLE_XET", True
    )  # read from the environment at import
    yield server
    server.close()


@pytest.fixture(scope="module")
def job(backend: Backend) -> str:
    """A succeeded job with a checkpoint better than the base."""
    id = backend.create_job(limits={"steps": 2})
    backend.register()
    trainer = backend.claim(id)
    trainer.start(0, 2)
    trainer.evaluate(0, 0.5)
    for step in (1, 2):
        trainer.step(step)
    trainer.evaluate(2, 0.75)
    archive = pack({"adapter_config.json": b"{}", "adapter_model.safetensors": WEIGHTS})
    record = {"kind": "checkpoint_saved", "step": 2, "blob": trainer.blob(archive), "held_out_reward": 0.75}
    trainer.send(record | {"final": True})
    trainer.end("succeeded")
    return id


def front_matter(card: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(card.split("---")[1])
    return document


def test_an_adapter_and_its_card_are_one_commit(
    backend: Backend, job: str, hub: HubUploads, run: Cli
) -> None:
    backend.sql("UPDATE base_model SET licence = 'apache-2.0', source = 'hub:org/base@v1' WHERE id = 'tiny'")
    printed = run("push", job, "ada/sums", "--json")
    assert printed.code == 0, printed.err
    assert json.loads(printed.out)["url"].startswith(f"{hub.url}/ada/sums/commit/")
    files = hub.files["ada/sums"]
    assert files.keys() == {"README.md", "adapter_config.json", "adapter_model.safetensors"}
    assert files["adapter_model.safetensors"] == WEIGHTS
    assert (len(hub.commits), hub.private["ada/sums"]) == (1, True)
    card = files["README.md"].decode()
    assert front_matter(card) | {"tags": []} == {
        "library_name": "peft", "base_model": "org/base", "base_model_relation": "adapter", "license": "apache-2.0",
        "pipeline_tag": "text-generation", "tags": [],
    }  # fmt: skip
    rows = {"held-out reward of the base": "0.500", "held-out reward with the adapter": "0.750"}
    rows |= {"rewards": "right × 1", "data": "sums (20 rows)", "job": job, "steps": "2"}
    for name, value in rows.items():
        assert f"| {name} | {value} |" in card


def test_what_the_hub_refuses_is_one_error(
    job: str, hub: HubUploads, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (run("push", job, "forbidden/sums").code, run("push", job, "a/b/c").code) == (4, 2)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    printed = run("push", job, "ada/sums")
    assert printed.code == 4
    assert "Check the token" in printed.err
    monkeypatch.delenv("HF_TOKEN")
    assert run("push", job, "ada/sums").code == 2


def test_a_hub_that_does_not_answer(job: str, run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    printed = run("push", job, "ada/sums")
    assert printed.code == 6
    assert "does not answer" in printed.err


@pytest.mark.long
def test_a_folder_is_merged_into_the_model_that_is_named(run: Cli, tmp_path: Path) -> None:
    adapter = write_adapter(CHECKPOINT, tmp_path / "adapter")
    printed = run(
        "adapter", "merge", str(adapter), "--base", str(CHECKPOINT), "--out", str(tmp_path / "m"), "--archive"
    )
    assert printed.code == 0, printed.err
    with tarfile.open(tmp_path / "m.tar") as tar:
        assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(tar.getnames())
    assert run("adapter", "merge", str(adapter), "--out", str(tmp_path / "other")).code == 2


def test_a_card_says_what_was_measured() -> None:
    card = write_card(FACTS)
    assert "| steps | 20 of 40 |" in card
    assert "| change | +0.250, 95 % interval +0.100 to +0.400, 64 rows |" in card
    assert "may be chance" not in card
    merged = write_card(FACTS, merged="bfloat16")
    assert front_matter(merged)["library_name"] == "transformers"
    assert "PeftModel" not in merged
    doubtful = write_card(
        CardFacts("a", "b", before=0.5, after=0.6, change=Change(value=0.1, low=-0.1, high=0.3))
    )
    assert "may be chance" in doubtful
    assert "| its licence | not stated |" in doubtful


def test_names_cannot_break_a_card() -> None:
    card = write_card(CardFacts('a\n---\n| "x": [', 'b"\nlicense: mit', licence="own: terms\n- x"))
    metadata = front_matter(card)
    assert metadata["base_model"] == 'b"\nlicense: mit'
    assert (metadata["license"], metadata["license_name"]) == ("other", "own: terms - x")
    assert '# a --- / "x": [' in card
