"""Export to MLflow through its REST API (2.0), to addresses that the platform may call.

MLflow's client is not used: it follows redirects and resolves names itself, so it could reach the platform's
own network.
"""

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from backend.trackers.batch import ExportBatch, ExportFailure, ExportResult, flat
from reinforge.net.outbound import AddressRefused, Guard

TIMEOUT_SECONDS = 20.0
_LARGEST_ANSWER = 1024**2
_METRICS_AT_ONCE = 1000
_PARAMS_AT_ONCE = 100
_PARAM_CHARACTERS = 6000
_NAME_CHARACTERS = 250
_STATUS = {"succeeded": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}
_EXPORT = "reinforge.export"
T = TypeVar("T")


async def send(batch: ExportBatch, guard: Guard) -> ExportResult:
    """Send a batch to its run, which is created if missing. Raises ExportFailure."""
    timeout = httpx.Timeout(TIMEOUT_SECONDS)
    async with httpx.AsyncClient(timeout=timeout, trust_env=False, follow_redirects=False) as client:
        server = _Server(client, guard, batch)
        experiment = await server.experiment()
        run_id = batch.run_id or await server.find_run(experiment) or await server.create_run(experiment)
        if batch.first:
            await server.log_config(run_id)
        await server.log_steps(run_id)
        if batch.status is not None:
            await server.end(run_id)
    return ExportResult(run_id, f"{batch.url}/#/experiments/{experiment}/runs/{run_id}")


class _Server:
    def __init__(self, client: httpx.AsyncClient, guard: Guard, batch: ExportBatch) -> None:
        self._client, self._guard, self._batch = client, guard, batch

    async def experiment(self) -> str:
        name = self._batch.destination
        existing = await self._get("experiments/get-by-name", {"experiment_name": name}, missing=True)
        if existing is None:
            created = await self._post("experiments/create", {"name": name})
            return _parsed(created, lambda answer: str(answer["experiment_id"]))
        return _parsed(existing, lambda answer: str(answer["experiment"]["experiment_id"]))

    async def find_run(self, experiment: str) -> str | None:
        """Run of this export that an earlier attempt created without storing its id, or None."""
        query = {
            "experiment_ids": [experiment],
            "filter": f"tags.`{_EXPORT}` = '{self._batch.export_id}'",
            "max_results": 1,
        }
        answer = await self._post("runs/search", query)
        if not answer.get("runs"):
            return None
        return _parsed(answer, lambda answer: str(answer["runs"][0]["info"]["run_id"]))

    async def create_run(self, experiment: str) -> str:
        batch = self._batch
        tags = {
            "mlflow.runName": batch.name,
            "mlflow.note.content": f"{batch.job_url}\n\n{batch.notes}"[:_PARAM_CHARACTERS],
            "mlflow.source.name": "Reinforge",
            "reinforge.job": batch.job_id,
            "reinforge.url": batch.job_url,
            _EXPORT: batch.export_id,
            **{f"reinforge.tag.{_name(tag)}": "true" for tag in batch.tags},
        }
        body = {
            "experiment_id": experiment,
            "run_name": batch.name,
            "start_time": int(1000 * batch.started),
            "tags": _pairs(tags),
        }
        created = await self._post("runs/create", body)
        return _parsed(created, lambda answer: str(answer["run"]["info"]["run_id"]))

    async def log_config(self, run_id: str) -> None:
        params = {_name(key): value[:_PARAM_CHARACTERS] for key, value in flat(self._batch.config).items()}
        pairs = _pairs(params)
        for start in range(0, len(pairs), _PARAMS_AT_ONCE):
            await self._post(
                "runs/log-batch", {"run_id": run_id, "params": pairs[start : start + _PARAMS_AT_ONCE]}
            )

    async def log_steps(self, run_id: str) -> None:
        metrics: list[dict[str, Any]] = [
            {"key": _name(key), "value": value, "timestamp": int(1000 * steps.ts), "step": steps.step}
            for steps in self._batch.steps
            for key, value in steps.values.items()
        ]
        if not metrics:
            return
        run = (await self._get("runs/get", {"run_id": run_id})) or {}
        newest = _parsed(run, _newest_steps)
        fresh = [metric for metric in metrics if metric["step"] > newest.get(metric["key"], -1)]
        for start in range(0, len(fresh), _METRICS_AT_ONCE):
            part = fresh[start : start + _METRICS_AT_ONCE]
            await self._post("runs/log-batch", {"run_id": run_id, "metrics": part})

    async def end(self, run_id: str) -> None:
        batch = self._batch
        summary = {f"reinforge.{key}": str(value)[:_PARAM_CHARACTERS] for key, value in batch.summary.items()}
        tags = _pairs(summary | {"reinforge.status": str(batch.status)})
        await self._post("runs/log-batch", {"run_id": run_id, "tags": tags})
        status = _STATUS.get(str(batch.status), "FINISHED")
        body = {"run_id": run_id, "status": status, "end_time": int(1000 * batch.ended)}
        await self._post("runs/update", body)

    async def _get(self, path: str, query: dict[str, str], *, missing: bool = False) -> dict[str, Any] | None:
        return await self._call("GET", path, params=query, missing=missing)

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self._call("POST", path, json=body) or {}

    async def _call(
        self, method: str, path: str, *, missing: bool = False, **content: Any
    ) -> dict[str, Any] | None:
        batch = self._batch
        try:
            target = await self._guard.target(f"{batch.url}/api/2.0/mlflow/{path}")
            request = self._client.build_request(
                method,
                target.url,
                headers=self._headers(target.host_header),
                extensions={"sni_hostname": target.server_name},
                **content,
            )
            auth = httpx.BasicAuth(batch.username, batch.key or "") if batch.username else None
            response = await self._client.send(request, stream=True, auth=auth)
            try:
                answer = await _limited(response)
            finally:
                await response.aclose()
        except AddressRefused as error:
            raise ExportFailure(str(error)) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ExportFailure(batch.without_key(f"{type(error).__name__}: {error}")[:500]) from error
        if missing and response.status_code == 404:
            return None
        if response.status_code != 200:
            text = answer.get("message") or answer.get("error_code") or "without a reason"
            reason = batch.without_key(str(text))[:300]
            raise ExportFailure(f"MLflow answered {response.status_code} to {path}: {reason}")
        return answer

    def _headers(self, host: str) -> httpx.Headers:
        batch = self._batch
        headers = {"host": host, "user-agent": "Reinforge"}
        if batch.key and not batch.username:
            headers["authorization"] = f"Bearer {batch.key}"
        return httpx.Headers(headers, encoding="utf-8")


async def _limited(response: httpx.Response) -> dict[str, Any]:
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) > _LARGEST_ANSWER:
            raise ExportFailure(f"MLflow's answer is larger than {_LARGEST_ANSWER:,} bytes.")
    try:
        answer = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        answer = {}
    if response.status_code == 200 and (not body or not isinstance(answer, dict)):
        raise ExportFailure("The server at this address is not an MLflow tracking server.")
    return answer if isinstance(answer, dict) else {}


def _parsed(answer: dict[str, Any], parse: Callable[[dict[str, Any]], T]) -> T:
    try:
        return parse(answer)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ExportFailure("The server at this address does not answer as MLflow does.") from error


def _newest_steps(answer: dict[str, Any]) -> dict[str, int]:
    metrics = answer["run"].get("data", {}).get("metrics", [])
    return {str(metric["key"]): int(metric.get("step", 0)) for metric in metrics}


def _name(text: str) -> str:
    return re.sub(r"[^\w\-./ :]", "_", text)[:_NAME_CHARACTERS]


def _pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]
