"""Adapters over HTTP: a download is a standard PEFT directory, with the same bytes every time."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, Qwen3Config

import worker
from backend.adapters.archive import repack
from reinforge.storage import StorageError
from reinforge.system import archives
from tests.backend.server import Backend


def packed(files: dict[str, bytes], prefix: str = "") -> bytes:
    """An uncompressed tar, as workers store adapters."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size, info.mtime, info.uid = len(data), 1234, 77
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def finish_job(backend: Backend, adapter: bytes) -> str:
    """A job that has succeeded with this adapter; returns the adapter's id."""
    job = backend.create_job(name="Sums: a/b")
    trainer = backend.claim(job)
    trainer.start()
    trainer.step(3)
    blob = trainer.blob(adapter)
    trainer.send(
        {"kind": "checkpoint_saved", "step": 3, "blob": blob, "held_out_reward": 0.75, "final": True}
    )
    trainer.end("succeeded", step=3)
    id: str = backend.job(job)["adapter"]
    assert id
    return id


def unpack(content: bytes, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        archives.unpack(tar, folder)
    return folder


def test_a_downloaded_adapter_loads_with_peft_and_computes_the_same(
    rpc_backend: Backend, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        head_dim=8, intermediate_size=24, max_position_embeddings=64,
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "base")
    base = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    trained = get_peft_model(base, LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False))
    trained.save_pretrained(tmp_path / "adapter")
    tokens = torch.arange(20)[None]
    expected = trained(tokens).logits

    files = {
        path.name: path.read_bytes() for path in (tmp_path / "adapter").iterdir() if path.name != "README.md"
    }
    id = finish_job(rpc_backend, packed(files))
    response = rpc_backend.api.get(f"/adapters/{id}/download")
    folder = unpack(response.content, tmp_path / "unpacked")
    fresh = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    loaded = PeftModel.from_pretrained(fresh, folder)
    assert torch.equal(loaded(tokens).logits, expected)
    assert {path.name for path in folder.iterdir()} == {*files, "README.md"}


@pytest.fixture(scope="module")
def adapter(rpc_backend: Backend) -> str:
    return finish_job(
        rpc_backend, packed({"adapter_config.json": b"{}", "adapter_model.safetensors": bytes(100_000)})
    )


def test_an_adapter_is_listed_with_where_it_comes_from(rpc_backend: Backend, adapter: str) -> None:
    listed = rpc_backend.api.get(f"/adapters/{adapter}").json()
    assert (listed["step"], listed["held_out_reward"], listed["model"]) == (3, 0.75, "tiny")
    assert listed["job"].startswith("ftjob-")
    assert listed in rpc_backend.api.get("/adapters").json()["data"]
    assert rpc_backend.api.get("/adapters/adp_nowhere").status_code == 404
    assert rpc_backend.api.get("/adapters/adp_nowhere/download").status_code == 404


def test_a_download_has_a_name_a_card_and_the_same_bytes_every_time(
    rpc_backend: Backend, adapter: str
) -> None:
    first, second = (rpc_backend.api.get(f"/adapters/{adapter}/download") for _ in range(2))
    assert first.headers["content-type"] == "application/gzip"
    assert first.headers["content-disposition"].endswith('-step-3.tar.gz"')
    assert "/" not in first.headers["content-disposition"].split("filename")[1]
    assert hashlib.sha256(first.content).digest() == hashlib.sha256(second.content).digest()
    with tarfile.open(fileobj=io.BytesIO(first.content), mode="r:gz") as tar:
        members = {member.name: member for member in tar}
        card = tar.extractfile("README.md").read().decode()  # type: ignore[union-attr]
    assert set(members) == {"adapter_config.json", "adapter_model.safetensors", "README.md"}
    assert all((member.mtime, member.uid, member.mode) == (0, 0, 0o644) for member in members.values())
    assert "0.750" in card
    assert "PeftModel.from_pretrained" in card

    again = rpc_backend.api.get(
        f"/adapters/{adapter}/download", headers={"if-none-match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


def test_nobody_else_may_download(rpc_backend: Backend, adapter: str) -> None:
    assert httpx.get(f"{rpc_backend.url}/api/v1/adapters/{adapter}/download").status_code == 401
    with rpc_backend.add_key("viewer") as viewer:
        assert viewer.get(f"/adapters/{adapter}/download").status_code == 200


def test_only_owners_delete_a_jobs_adapter_and_the_job_keeps_its_checkpoints(rpc_backend: Backend) -> None:
    adapter = finish_job(rpc_backend, packed({"adapter_config.json": b"{}"}))
    job = rpc_backend.api.get(f"/adapters/{adapter}").json()["job"]
    with rpc_backend.add_key("editor") as editor:
        assert editor.delete(f"/adapters/{adapter}").json()["error"]["code"] == "not_owner"
    assert rpc_backend.api.delete(f"/adapters/{adapter}").status_code == 204
    assert rpc_backend.api.get(f"/adapters/{adapter}").status_code == 404
    assert len(rpc_backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]) == 1


def test_only_plain_files_leave_a_stored_archive() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind in (
            ("link", tarfile.SYMTYPE),
            ("folder", tarfile.DIRTYPE),
            ("device", tarfile.CHRTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        for name in ("/etc/adapter_config.json", "a/../../b.txt", "./b.txt", "README.md"):
            info = tarfile.TarInfo(name)
            info.size = 3
            tar.addfile(info, io.BytesIO(b"abc"))
    content = b"".join(repack(io.BytesIO(buffer.getvalue()), "card"))
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        assert tar.getnames() == ["adapter_config.json", "b.txt", "README.md"]
        assert tar.extractfile("README.md").read() == b"abc", "its own card wins"  # type: ignore[union-attr]
    assert len(gzip.decompress(content)) % 512 == 0


def test_a_damaged_archive_is_an_error_of_the_store() -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        list(repack(io.BytesIO(b"no tar at all" * 100), "card"))


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("/models/my model#template=plain", ['base = "/models/my model"', "from_pretrained(base)"]),
        (
            "hub:org/name@abc",
            ['base = "org/name"', 'AutoModelForCausalLM.from_pretrained(base, revision="abc")'],
        ),
        ("hub:org/name", ['base = "org/name"', "from_pretrained(base)"]),
    ],
)
def test_the_cards_snippet_names_the_base_as_it_is_loaded(
    rpc_backend: Backend, adapter: str, source: str, lines: list[str]
) -> None:
    rpc_backend.sql("UPDATE base_model SET source = %s WHERE id = 'tiny'", source)
    try:
        snippet = card_snippet(rpc_backend.api.get(f"/adapters/{adapter}/download").content)
    finally:
        rpc_backend.sql("UPDATE base_model SET source = '/models/tiny' WHERE id = 'tiny'")
    compile(snippet, "README.md", "exec")
    assert all(line in snippet for line in lines), snippet


def test_the_cards_snippet_runs_for_the_built_in_model(
    rpc_backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Path(worker.__file__).parent / "starter" / "starter-arith"
    model = AutoModelForCausalLM.from_pretrained(base)
    get_peft_model(model, LoraConfig(r=2, target_modules="all-linear")).save_pretrained(tmp_path / "made")
    files = {
        path.name: path.read_bytes() for path in (tmp_path / "made").iterdir() if path.name != "README.md"
    }
    id = finish_job(rpc_backend, packed(files))
    rpc_backend.sql("UPDATE base_model SET source = 'builtin:starter-arith' WHERE id = 'tiny'")
    try:
        content = rpc_backend.api.get(f"/adapters/{id}/download").content
    finally:
        rpc_backend.sql("UPDATE base_model SET source = '/models/tiny' WHERE id = 'tiny'")
    monkeypatch.chdir(unpack(content, tmp_path / "unpacked"))
    names: dict[str, Any] = {}
    exec(card_snippet(content), names)
    assert isinstance(names["model"], PeftModel)
    assert names["tokenizer"]("1+1=").input_ids


def card_snippet(content: bytes) -> str:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        card = tar.extractfile("README.md").read().decode()  # type: ignore[union-attr]
    return str(card.partition("```python\n")[2].partition("```")[0])
