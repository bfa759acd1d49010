"""Check of torch and GPUs, from a worker process's report."""

from typing import Any, Literal

Finding = tuple[Literal["ok", "warn", "fail"], str, str | None]


def torch_state(report: dict[str, Any]) -> Finding:
    if report["problem"] is not None:
        return "fail", report["problem"], report["remedy"]
    placement = report["placement"]
    if "jobs" not in placement:
        return "fail", placement["message"], placement["hint"] or f"Change {placement['param']}."
    if report["gpu"] is not None:
        side = f", {placement['jobs']} jobs at a time" if placement["jobs"] > 1 else ""
        return "ok", f"torch {report['torch']}, {report['gpu']}{side}", None
    where = "on the CPU, as REINFORGE_DEVICE requires" if report["cpu_demanded"] else "no GPU"
    remedy = "The starter model trains on the CPU; larger models need a GPU."
    return "warn", f"torch {report['torch']}, {where}", remedy
