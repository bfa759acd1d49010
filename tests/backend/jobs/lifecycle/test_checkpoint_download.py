"""Checkpoints are downloaded in the same form as adapters, while the job runs and after."""

import io
import tarfile

import httpx
import pytest

from tests.backend.server import Backend, Trainer


def save(
    trainer: Trainer, step: int, content: bytes, reward: float | None = None, final: bool = False
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in {"adapter_config.json": b"{}", "adapter_model.safetensors": content}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    record = {
        "kind": "checkpoint_saved",
        "step": step,
        "blob": trainer.blob(buffer.getvalue()),
        "final": final,
    }
    trainer.send(record | {"held_out_reward": reward})


def download(backend: Backend, job: str, step: int, **headers: str) -> httpx.Response:
    return backend.api.get(f"/jobs/{job}/checkpoints/{step}/download", headers=headers)


def unpacked(response: httpx.Response) -> dict[str, bytes]:
    assert response.status_code == 200, response.text
    with tarfile.open(fileobj=io.BytesIO(response.content), mode="r:gz") as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def test_a_checkpoint_of_a_running_job(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job(name='Sums: "a/b"')
    trainer = rpc_backend.claim(job)
    trainer.start()
    save(trainer, 2, b"two" * 1000, reward=0.625)
    first, second = (download(rpc_backend, job, 2) for _ in range(2))
    assert first.content == second.content
    assert first.headers["content-type"] == "application/gzip"
    assert first.headers["content-disposition"] == 'attachment; filename="Sums-a-b-step-2.tar.gz"'
    files = unpacked(first)
    assert set(files) == {"adapter_config.json", "adapter_model.safetensors", "README.md"}
    assert files["adapter_model.safetensors"] == b"two" * 1000
    card = files["README.md"].decode()
    assert f"`{job}`" in card
    assert "| steps | 2 |" in card
    assert "0.625" in card
    again = download(rpc_backend, job, 2, **{"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_other_weights_of_the_same_step_are_sent_again(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    save(trainer, 2, b"first")
    before = download(rpc_backend, job, 2)
    assert "immutable" not in before.headers["cache-control"]
    save(trainer, 2, b"second")
    after = download(rpc_backend, job, 2, **{"if-none-match": before.headers["etag"]})
    assert unpacked(after)["adapter_model.safetensors"] == b"second"


def test_the_last_checkpoint_of_a_succeeded_job_is_its_adapter(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job(name="sums")
    trainer = rpc_backend.claim(job)
    trainer.start()
    save(trainer, 1, b"one", reward=0.9)
    trainer.step(3)
    save(trainer, 3, b"three", reward=0.5, final=True)
    trainer.end("succeeded", step=3)
    adapter = rpc_backend.job(job)["adapter"]
    assert (
        download(rpc_backend, job, 3).content == rpc_backend.api.get(f"/adapters/{adapter}/download").content
    )
    assert unpacked(download(rpc_backend, job, 1))["adapter_model.safetensors"] == b"one"


@pytest.mark.parametrize("outcome", ["failed", "paused"])
def test_whatever_became_of_the_job(rpc_backend: Backend, outcome: str) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start()
    save(trainer, 1, b"one")
    trainer.end(outcome, reason="reward_errors", message="m", step=1)
    assert unpacked(download(rpc_backend, job, 1))["adapter_model.safetensors"] == b"one"


def test_what_is_not_there_and_who_may(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    missing = download(rpc_backend, job, 1)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "checkpoint_not_found")
    assert missing.json()["error"]["hint"]
    assert download(rpc_backend, "ftjob-none", 1).json()["error"]["code"] == "job_not_found"
    save(rpc_backend.claim(job), 1, b"one")
    path = f"/jobs/{job}/checkpoints/1/download"
    assert httpx.get(f"{rpc_backend.url}/api/v1{path}").status_code == 401
    with rpc_backend.add_key("viewer") as viewer:
        assert viewer.get(path).status_code == 200
