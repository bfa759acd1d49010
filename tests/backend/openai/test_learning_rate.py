"""The learning rate on OpenAI's wire: `auto`, its multiples, and the same defaults as on every other way in."""

import httpx

from reinforge.base_models.learning_rate import auto_learning_rate
from tests.backend.openai.requests import body
from tests.backend.server import Backend

AUTO = auto_learning_rate(128)
"""Of the tests' model, whose hidden size is 128."""


DEFAULT_PARTS = (
    "rollout",
    "optimizer",
    "evaluation",
    "limits",
    "adapter",
    "algorithm",
    "data",
    "environment",
)


def test_openais_wire_and_ours_make_the_very_same_job_of_a_model_a_dataset_and_a_reward(
    rpc_backend: Backend, wire: httpx.Client
) -> None:
    dataset = rpc_backend.add_dataset([{"prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(100)])
    model = rpc_backend.add_model("roomy", context=1024)
    ours = rpc_backend.api.post(
        "/jobs",
        json={
            "model": model,
            "data": {"dataset": dataset},
            "rewards": [
                {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1.0\n"}
            ],
        },
    ).json()
    request = body(rpc_backend) | {"model": model, "training_file": dataset, "seed": 0}
    del request["method"]["reinforcement"]["hyperparameters"]
    answer = wire.post("/fine_tuning/jobs", json=request)
    assert answer.status_code == 200, answer.text
    theirs = rpc_backend.job(answer.json()["id"])
    for part in DEFAULT_PARTS:
        assert theirs["resolved_spec"][part] == ours["resolved_spec"][part], part
    assert theirs["spec"]["optimizer"]["learning_rate"] == "auto"
    fields = answer.json()["method"]["reinforcement"]["hyperparameters"]
    assert (fields["learning_rate_multiplier"], fields["learning_rate"], fields["steps"]) == (1.0, AUTO, 100)


def test_a_job_from_elsewhere_shows_its_multiple_of_auto(rpc_backend: Backend, wire: httpx.Client) -> None:
    for optimizer, multiplier in (({}, 1.0), ({"learning_rate": 2 * AUTO}, 2.0)):
        job = rpc_backend.create_job(optimizer=optimizer)
        fields = wire.get(f"/fine_tuning/jobs/{job}").json()["method"]["reinforcement"]["hyperparameters"]
        assert fields["learning_rate_multiplier"] == multiplier
        assert fields["learning_rate"] == AUTO * multiplier


def test_a_multiplier_needs_the_size(rpc_backend: Backend, wire: httpx.Client) -> None:
    model = rpc_backend.add_model("old", hidden_size=None)
    request = body(rpc_backend, hyperparameters={"learning_rate_multiplier": 2}) | {"model": model}
    answer = wire.post("/fine_tuning/jobs", json=request)
    assert answer.status_code == 400
    error = answer.json()["error"]
    where = "method.reinforcement.hyperparameters.learning_rate_multiplier"
    assert (error["code"], error["param"]) == ("hidden_size_unknown", where)
    job = wire.post("/fine_tuning/jobs", json=body(rpc_backend) | {"model": model}).json()
    fields = job["method"]["reinforcement"]["hyperparameters"]
    assert (fields["learning_rate_multiplier"], fields["learning_rate"]) == (1.0, AUTO)
