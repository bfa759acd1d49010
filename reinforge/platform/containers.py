"""Container images (named by REINFORGE_CONTAINER) and remedies for failed checks."""

from reinforge import settings

IMAGES = ("backend", "worker")
REMEDIES = {
    "home": "The volume at /var/lib/reinforge has to belong to uid 10001.",
    "database": "See `docker compose ps postgres` and `docker compose logs postgres migrate`.",
    "storage": "The volume at /var/lib/reinforge/objects has to belong to uid 10001; for S3 see STORAGE_URL in .env.",
    "broker": "See `docker compose ps redis` and `docker compose logs redis`.",
    "sandbox": "Jobs pause with `sandbox_unavailable` until a jail works. See `docker compose logs sandbox`.",
    "torch": "Build the image again: `docker compose build worker calls`.",
    "page": "Build the image again: `docker compose build`.",
    "vllm": "This image has no vLLM: use docker-compose.gpu.yml, or set REINFORGE_SERVING_ENGINE=auto in .env.",
    "workers": "See `docker compose ps worker calls` and `docker compose logs worker calls`.",
    "server": "See `docker compose ps api` and `docker compose logs api`.",
}


def image() -> str | None:
    name = settings.container_image()
    return name if name in IMAGES else None
