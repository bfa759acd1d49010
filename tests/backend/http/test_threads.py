"""What a request costs beside its own work: no thread for a dependency, one statement to know who sends it."""

import inspect
from collections.abc import Iterator
from typing import Any

from fastapi.dependencies.models import Dependant
from sqlalchemy import event

from backend.main import create_app
from tests.backend.server import Backend


def routes(router: Any) -> Iterator[Any]:
    for route in router.routes:
        if hasattr(route, "dependant"):
            yield route
        elif hasattr(route, "original_router"):
            yield from routes(route.original_router)


def calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for inner in dependant.dependencies:
        yield from calls(inner)


def test_no_endpoint_and_no_dependency_takes_a_thread() -> None:
    """FastAPI calls plain functions and classes in a thread: two switches, and a wait where processors are busy."""
    all_routes = list(routes(create_app().router))
    assert len(all_routes) > 150
    in_threads = {
        f"{call.__module__}.{call.__qualname__}"
        for route in all_routes
        for call in calls(route.dependant)
        if not inspect.iscoroutinefunction(call) and not inspect.isasyncgenfunction(call)
    }
    assert in_threads == set()


def test_knowing_a_key_is_one_statement(backend: Backend) -> None:
    assert backend.api.get("/me").status_code == 200  # notes the key's use, once a minute
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        statements.append(statement)

    engine = backend.app.state.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        assert backend.api.get("/me").status_code == 200
    finally:
        event.remove(engine, "before_cursor_execute", note)
    of_keys = [statement for statement in statements if "api_key" in statement]
    assert len(of_keys) == 1 and of_keys[0].startswith("SELECT"), of_keys
