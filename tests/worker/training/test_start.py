"""Jobs that start from an adapter: its weights are the first policy, the reference and the base measurement."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from reinforge.errors import JobFailure
from reinforge.records import ForkStart
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Sequences
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.training.checkpoint.archive import pack, unpack
from worker.training.checkpoint.fork import WEIGHTS, start_weights

SEQUENCES = Sequences([[1, 2, 3], [1, 2, 3]], [[4, 5, 6], [7, 8]], temperature=1.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, model: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("source"), model, small_spec())
    assert job.train().outcome == "succeeded"
    return job


def adapter_of(job: SmallJob) -> bytes:
    return job.blob(job.records("checkpoint_saved")[-1])


def test_the_first_policy_and_the_reference_are_the_adapter(
    tmp_path: Path, model: Path, source: SmallJob
) -> None:
    folder = tmp_path / "adapter"
    folder.mkdir()
    for name, content in unpack(adapter_of(source)).items():
        (folder / name).write_bytes(content)
    base = load_base_model(model)
    host = LocalHost(base)
    host.load_adapter("served", folder)
    with host.activate("served"), torch.no_grad():
        served = base.model(torch.tensor([[1, 2, 3, 4, 5, 6]])).logits.log_softmax(-1)
    expected = [float(served[0, place, token]) for place, token in ((2, 4), (3, 5), (4, 6))]

    job = SmallJob(tmp_path / "job", model, small_spec(seed=9), start=adapter_of(source))
    own = job.policy.log_probs(SEQUENCES).logprobs
    assert own[0].tolist() == pytest.approx(expected, abs=1e-5)
    assert torch.equal(job.policy.reference_log_probs(SEQUENCES), own)
    assert not torch.allclose(job.policy.base_log_probs(SEQUENCES), own)

    assert job.train().outcome == "succeeded"
    assert [record.step for record in job.records("step_metrics")] == [1, 2, 3, 4]
    assert torch.equal(job.policy.reference_log_probs(SEQUENCES), own)
    assert not torch.allclose(job.policy.log_probs(SEQUENCES).logprobs, own)


def test_the_base_measurement_is_the_adapters(tmp_path: Path, model: Path, source: SmallJob) -> None:
    job = SmallJob(tmp_path, model, small_spec(), start=adapter_of(source))
    assert job.train().outcome == "succeeded"
    first = job.records("evaluated")[0].values["held_out/reward_mean"]
    assert first == source.records("evaluated")[-1].values["held_out/reward_mean"]


def test_a_resumed_job_and_a_fork_keep_the_reference(tmp_path: Path, model: Path, source: SmallJob) -> None:
    start = adapter_of(source)
    job = SmallJob(tmp_path / "job", model, small_spec(), start=start)
    reference = job.policy.reference_log_probs(SEQUENCES)
    assert job.train().outcome == "succeeded"
    (record,) = job.records("resume_state_saved")
    fork = ForkStart(step=2, carried=["weights", "order"])
    for name, of in (("resumed", None), ("fork", fork)):
        again = SmallJob(tmp_path / name, model, small_spec(), resume=job.blob(record), fork=of, start=start)
        assert again.position.step == 2
        assert torch.equal(again.policy.reference_log_probs(SEQUENCES), reference)
        assert not torch.equal(again.policy.log_probs(SEQUENCES).logprobs, reference)


@pytest.mark.parametrize("fault", ["no tar", "no weights", "other rank", "other layers", "not finite"])
def test_an_adapter_that_does_not_fit_is_refused(
    model: Path, tmp_path: Path, source: SmallJob, fault: str
) -> None:
    content = adapter_of(source)
    tensors = load(unpack(content)[WEIGHTS])
    first = min(tensors)
    if fault == "other rank":
        tensors = {
            key: torch.zeros(tensor.shape[0] + 1, *tensor.shape[1:]) for key, tensor in tensors.items()
        }
    elif fault == "other layers":
        tensors[first.replace("layers.0", "layers.9")] = tensors.pop(first)
    elif fault == "not finite":
        tensors[first][0, 0] = torch.nan
    content = {"no tar": b"no tar", "no weights": pack({"x": b""})}.get(fault) or pack(
        {WEIGHTS: save(tensors)}
    )
    expected = SmallJob(tmp_path, model, small_spec()).policy.weights()
    with pytest.raises(JobFailure) as caught:
        start_weights(content, "policy", expected)
    assert caught.value.code == "invalid_adapter"
