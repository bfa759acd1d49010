"""Wake-ups of workers through Celery: messages with a job's id."""

import logging
from typing import Any

import anyio.to_thread
from celery import Celery

from backend.settings import Settings

log = logging.getLogger(__name__)

TASK = "worker.tasks.wake"
QUEUE = "jobs"
_SEND_SECONDS = 3.0


def broker_options(settings: Settings) -> dict[str, Any]:
    if settings.redis_url is not None:
        return {
            "broker_url": settings.redis_url.get_secret_value(),
            "broker_transport_options": {
                "socket_timeout": _SEND_SECONDS,
                "socket_connect_timeout": _SEND_SECONDS,
            },
        }
    folder = settings.broker_folder
    queue, processed, control = folder / "queue", folder / "processed", folder / "control"
    for subfolder in (queue, processed, control):
        subfolder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "broker_url": "filesystem://localhost",
        "broker_transport_options": {
            "data_folder_in": str(queue),
            "data_folder_out": str(queue),
            "processed_folder": str(processed),
            "control_folder": str(control),
            "polling_interval": 0.1,
        },
    }


class WakeUps:
    def __init__(self, settings: Settings) -> None:
        self._celery = Celery("reinforge", set_as_current=False)
        self._celery.conf.update(
            task_serializer="json",
            accept_content=["json"],
            task_ignore_result=True,
            broker_connection_retry=False,
            **broker_options(settings),
        )

    async def send(self, job_id: str) -> bool:
        try:
            await anyio.to_thread.run_sync(self._send, job_id)
        except Exception as error:
            log.warning(
                "wake-up for %s not sent: %s", job_id, error, exc_info=log.isEnabledFor(logging.DEBUG)
            )
            return False
        return True

    def _send(self, job_id: str) -> None:
        self._celery.send_task(TASK, args=[job_id], queue=QUEUE, retry=False, ignore_result=True)

    def close(self) -> None:
        self._celery.close()
