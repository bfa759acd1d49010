"""`python -m backend.trackers.wandb_child`: writes one batch to Weights & Biases with W&B's own library."""

import json
import os
import signal
import sys
from typing import Any

LONGEST_SECONDS = 150


def main() -> None:
    signal.alarm(LONGEST_SECONDS)  # also without a parent: another attempt may begin then
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the library prints is no answer
    batch = json.load(sys.stdin)
    try:
        answer = export(batch)
    except Exception as error:  # noqa: BLE001 - the parent raises it
        answer = {"error": f"{type(error).__name__}: {error}"}
    json.dump(answer, answers)
    answers.flush()


def export(batch: dict[str, Any]) -> dict[str, Any]:
    try:
        import wandb
    except ImportError:
        return {"error": "export_unavailable"}
    settings = wandb.Settings(
        http_proxy=batch["proxy"],
        https_proxy=batch["proxy"],
        disable_git=True,
        save_code=False,
        console="off",
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
        init_timeout=60,
        x_update_finish_state=batch["status"] is not None or batch["offline"],
    )
    run = wandb.init(
        entity=batch["entity"],
        project=batch["destination"],
        id=batch["export_id"],
        name=batch["name"],
        notes=f"{batch['job_url']}\n\n{batch['notes']}",
        tags=[tag[:64] for tag in batch["tags"]],
        config=batch["config"] | {"reinforge": {"job": batch["job_id"], "url": batch["job_url"]}},
        resume=None if batch["offline"] else "allow",
        settings=settings,
    )
    for steps in batch["steps"]:
        if steps["step"] >= run.step:  # those before have arrived with an earlier attempt
            run.log(steps["values"], step=steps["step"], commit=True)
    if batch["status"] is not None:
        run.summary.update({f"reinforge/{key}": value for key, value in batch["summary"].items()})
        run.summary["reinforge/status"] = batch["status"]
    url = run.url
    run.finish(exit_code=1 if batch["status"] == "failed" else 0)
    return {"run_id": run.id, "run_url": url}


if __name__ == "__main__":
    main()
