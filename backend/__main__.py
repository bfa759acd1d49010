"""Command line of the backend: `python -m backend migrate | api | background | openapi`."""

import argparse
import asyncio
import contextlib
import json
import logging
import socket
import sys

import uvicorn

from backend.settings import Settings
from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.system import logs, tracing
from reinforge.system.imports import without_collection


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m backend", description="Reinforge's backend.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="bring the database's schema to this version")
    api = commands.add_parser("api", help="serve the API and the page")
    api.add_argument("--host", default="127.0.0.1")
    api.add_argument("--port", type=int, default=8321)
    api.add_argument(
        "--first-demo", action="store_true", help="start the demo job if there has never been a job"
    )
    commands.add_parser("background", help="run periodic tasks; of several such processes, one is active")
    commands.add_parser("openapi", help="print the OpenAPI document")
    return parser


def _api(settings: Settings, host: str, port: int, *, first_demo: bool) -> None:
    with without_collection():
        from backend.http.memory import prepare_server
        from backend.http.server import ServerConfig, raise_descriptor_limit
        from backend.main import create_app

    app = create_app(settings, first_demo=first_demo)
    prepare_server()
    raise_descriptor_limit()
    config = ServerConfig(
        app,
        host=host,
        port=port,
        timeout_graceful_shutdown=3,
        server_header=False,
        forwarded_allow_ips=settings.trusted_proxies,
    )
    server = uvicorn.Server(config)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(_listening(host, port, settings))
    if not server.started:
        sys.exit(3)


def _listening(host: str, port: int, settings: Settings) -> list[socket.socket] | None:
    if settings.worker_address is None:
        return None
    if settings.worker_port == port:
        raise InvalidInput(
            "REINFORGE_WORKER_LISTEN has the same port as the API.",
            code="worker_listen_taken",
            hint="Give the worker API a port of its own.",
        )
    return [_bound(host, port), _bound(*settings.worker_address)]


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


def _openapi() -> None:
    from backend.main import create_app

    json.dump(create_app().openapi(), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command != "migrate":
        logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        logs.configure(options.command)
        settings = Settings()
        tracing.configure(options.command)
        if options.command == "migrate":
            with without_collection():
                from backend.data.migrate import upgrade

            upgrade(settings.required_database_url())
        elif options.command == "api":
            _api(settings, options.host, options.port, first_demo=options.first_demo)
        elif options.command == "background":
            with without_collection():
                from backend.background import run

            asyncio.run(run(settings))
        else:
            _openapi()
    except ReinforgeError as error:
        sys.stderr.write(f"{error.message}\n{error.hint or ''}\n")
        return 1
    finally:
        tracing.shut_down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
