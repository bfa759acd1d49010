"""The worker's Celery application. Its one queue holds wake-up messages, in Redis or in a polled folder."""

import warnings
from typing import Any

from celery import Celery

from worker.settings import WorkerSettings

QUEUE = "jobs"
POLL_SECONDS = 0.1


def broker_configuration(settings: WorkerSettings) -> dict[str, Any]:
    """Celery's broker options: Redis if configured, else the folders into which the backend writes."""
    if settings.redis_url:
        return {"broker_url": settings.redis_url}
    messages, control = settings.folder("broker", "queue"), settings.folder("broker", "control")
    return {
        "broker_url": "filesystem://localhost",
        "broker_transport": "worker.folder_broker:Transport",
        "broker_transport_options": {
            "data_folder_in": str(messages),
            "data_folder_out": str(messages),
            "control_folder": str(control),
            "polling_interval": POLL_SECONDS,
        },
    }


def make_app(settings: WorkerSettings) -> Celery:
    """Make an application that acknowledges messages before their tasks run, and stores no results. A lost or
    repeated message does no harm.
    """
    app = Celery("reinforge", include=["worker.tasks"])
    app.conf.update(
        **broker_configuration(settings),
        task_default_queue=QUEUE,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=False,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        # For ever: jobs that the worker has found without a wake-up go on meanwhile.
        broker_connection_max_retries=None,
    )
    return app


# Root is the usual user of a container, and nothing but JSON is accepted.
warnings.filterwarnings("ignore", message=".*superuser privileges.*")
app = make_app(WorkerSettings())
