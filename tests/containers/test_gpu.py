"""docker-compose.gpu.yml and the images that it names. `make test-containers` has Docker Compose read it."""

import re
from typing import Any

import pytest

from tests.support.compose import GPU, REQUIRED, ROOT, environment, services
from tests.support.dockerfile import parents, stages
from worker.machine.gpus import Gpu, visible

SECRETS = dict.fromkeys(REQUIRED, "a-secret-of-this-test")
WORKERS = ("worker", "calls")
CARDS = [Gpu(str(number), f"GPU-{number}") for number in range(4)]


def with_gpus(**variables: str) -> dict[str, dict[str, Any]]:
    return services(SECRETS | variables, GPU)


def devices(service: dict[str, Any]) -> Any:
    return service.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices")


def test_workers_alone_get_the_gpus() -> None:
    ours = with_gpus()
    assert {name for name, service in ours.items() if devices(service)} == set(WORKERS)
    for name in WORKERS:
        assert devices(ours[name]) == [{"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}]
    assert not any(devices(service) for service in services(SECRETS).values()), "without the override: none"


def test_torch_has_cuda_with_the_override_alone() -> None:
    for name in WORKERS:
        assert services(SECRETS)[name]["build"]["args"]["TORCH_INDEX"].endswith("/whl/cpu")
        assert with_gpus()[name]["build"]["args"]["TORCH_INDEX"] == ""
    older = "https://download.pytorch.org/whl/cu126"
    assert with_gpus(TORCH_INDEX=older)["worker"]["build"]["args"]["TORCH_INDEX"] == older


def test_images_of_gpus_do_not_replace_those_of_the_cpu() -> None:
    plain, gpu = services(SECRETS), with_gpus()
    for name in WORKERS:
        assert gpu[name]["image"] == "reinforge-worker-vllm:local" != plain[name]["image"]
        assert gpu[name]["build"]["target"] == "worker-vllm"
    smaller = with_gpus(WORKER_TARGET="worker-gpu")["worker"]
    assert (smaller["build"]["target"], smaller["image"]) == ("worker-gpu", "reinforge-worker-gpu:local")
    assert {"worker-vllm", "worker-gpu"} <= set(stages())


def test_memory_shared_by_processes_is_large() -> None:
    assert services(SECRETS)["worker"]["shm_size"] == "2g"
    assert {with_gpus()[name]["shm_size"] for name in WORKERS} == {"8g"}
    assert with_gpus(SHM_SIZE="16g")["worker"]["shm_size"] == "16g"


@pytest.mark.parametrize("name", WORKERS)
def test_compiled_kernels_lie_in_a_volume(name: str) -> None:
    service = with_gpus()[name]
    mounts = {volume.split(":")[1]: volume.split(":")[0] for volume in service["volumes"] if ":" in volume}
    assert mounts["/home/reinforge/.cache"] == "cache"
    caches = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "VLLM_CACHE_ROOT", "CUDA_CACHE_PATH")
    folders = {environment(service, {})[cache] for cache in caches}
    assert len(folders) == len(caches)
    assert all(folder.startswith("/home/reinforge/.cache/") for folder in folders)


@pytest.mark.parametrize("name", WORKERS)
def test_the_override_takes_nothing_away(name: str) -> None:
    plain, gpu = services(SECRETS)[name], with_gpus()[name]
    assert environment(plain, {}).items() <= environment(gpu, {}).items()
    for key in ("read_only", "cap_drop", "security_opt", "volumes", "networks", "command", "healthcheck"):
        assert gpu[key] == plain[key], key


def test_all_workers_share_the_folder_of_the_locks() -> None:
    """The locks of GPUs lie in the home: with homes of their own, two workers would take the same GPU."""
    ours = with_gpus(WORKERS="4")
    assert str(ours["worker"]["deploy"]["replicas"]) == "4"
    for name in WORKERS:
        assert environment(ours[name], {})["REINFORGE_HOME"] == "/var/lib/reinforge"
        assert environment(ours[name], {})["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
        assert "worker-home:/var/lib/reinforge" in ours[name]["volumes"]


@pytest.mark.parametrize(
    ("variables", "cards"),
    [({}, ["0", "1", "2", "3"]), ({"SERVING_GPUS": "3"}, ["3"]), ({"SERVING_GPUS": ""}, [])],
)
def test_serving_sees_the_gpus_that_it_may_take(variables: dict[str, str], cards: list[str]) -> None:
    ours = with_gpus(**variables)
    value = environment(ours["calls"], {})["CUDA_VISIBLE_DEVICES"]
    assert [gpu.device for gpu in visible(CARDS, value)] == cards
    assert "CUDA_VISIBLE_DEVICES" not in environment(ours["worker"], {})


def test_the_gpus_of_jobs_are_chosen_in_env() -> None:
    chosen = {
        "REINFORGE_TRAINER_DEVICES": "0,1",
        "REINFORGE_SAMPLER_DEVICES": "2",
        "REINFORGE_GPUS_PER_JOB": "2",
    }
    assert chosen.items() <= environment(with_gpus(**chosen)["worker"], chosen).items()


@pytest.mark.parametrize("stage", ["worker-gpu", "worker-vllm"])
def test_images_of_gpus_have_a_compiler_and_the_worker(stage: str) -> None:
    text = stages()[stage]
    assert re.search(r"apt-get install .*\bgcc libc6-dev\b", text)
    assert "vllm_compiler.py" in text, "the build says which part is missing"
    assert text.index("gcc") < text.index("COPY --from=worker /app /app"), "an edit installs no library again"
    assert re.findall(r"^CMD .*$", text, re.MULTILINE) == re.findall(
        r"^CMD .*$", stages()["worker"], re.MULTILINE
    )
    assert re.findall(r"^USER (\w+)$", text, re.MULTILINE)[-1] == "reinforge"


def test_vllm_is_the_one_of_make_vllm_in_an_environment_of_its_own() -> None:
    text = stages()["worker-vllm"]
    installed = re.search(r"/opt/vllm/bin/pip install (vllm==\S+)", text)
    assert installed is not None
    assert f" {installed[1]};" in (ROOT / "Makefile").read_text()
    assert "REINFORGE_VLLM_PYTHON=/opt/vllm/bin/python" in text
    assert "vllm==" not in stages()["worker-gpu"]
    assert parents()["worker"] == "worker-libraries", "the CPU's image has no compiler"
    assert "gcc" not in stages()["worker"]
