"""Web application: `create_app()` assembles the middleware and the routers."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from sqlalchemy.exc import OperationalError

from backend.access.admission import Admission
from backend.access.quotas import Bounds
from backend.access.sender_slots import SenderSlots
from backend.adapters.endpoints import router as adapters
from backend.agents.endpoints import router as agents
from backend.agents.endpoints import worker_router as worker_agents
from backend.aliases.endpoints import router as aliases
from backend.audit.endpoints import router as audit
from backend.audit.trail import AuditTrail
from backend.base_models import service as base_models_service
from backend.base_models.endpoints import router as base_models
from backend.data.caches import CacheTidying
from backend.data.database import Database
from backend.data.events import Hub
from backend.data.migrate import is_migrated
from backend.data.objects import Objects, configured_store
from backend.data.sealing import Sealer
from backend.datasets.endpoints import router as datasets
from backend.datasets.leakage.endpoints import router as dataset_reports
from backend.datasets.prompts.endpoints import router as dataset_prompts
from backend.datasets.uploads.endpoints import router as dataset_uploads
from backend.demo import service as demo_service
from backend.demo.endpoints import router as demo
from backend.deployments.endpoints import router as deployments
from backend.deployments.serving import Loader
from backend.evaluations.endpoints import router as evaluations
from backend.evaluations.runner import Evaluator
from backend.examples.endpoints import router as examples
from backend.golden.endpoints import router as golden
from backend.http import errors
from backend.http.compression import CompressJson
from backend.http.memory import MemoryReturn
from backend.job_defaults.endpoints import router as job_defaults
from backend.jobs.endpoints import router as jobs
from backend.jobs.monitoring.live_frames import LiveJobs
from backend.jobs.shares.endpoints import page_router as shared_jobs
from backend.jobs.submission.submit import SubmitServices
from backend.judges.endpoints import router as judges
from backend.keys import service as keys
from backend.keys.endpoints import router as api_keys
from backend.notifications.endpoints import page_router as mail_pages
from backend.notifications.endpoints import router as notifications
from backend.openai.chat.endpoints import router as openai_chat
from backend.openai.chat.rollout import router as openai_rollouts
from backend.openai.files.endpoints import router as openai_files
from backend.openai.files.uploads import router as openai_uploads
from backend.openai.graders.endpoints import router as openai_graders
from backend.openai.jobs.checkpoints import router as openai_checkpoints
from backend.openai.jobs.endpoints import router as openai_jobs
from backend.openai.model_endpoints import router as openai_models
from backend.openai.responses.rollout import router as openai_rollout_responses
from backend.playground.endpoints import router as playground
from backend.preflights.endpoints import router as preflights
from backend.processes.pool import close_children
from backend.projects.endpoints import router as projects
from backend.projects.invitation_endpoints import router as invitations
from backend.projects.member_endpoints import router as members
from backend.rewards.attack_endpoints import router as reward_attacks
from backend.rewards.endpoints import router as rewards
from backend.rewards.source_endpoints import router as reward_sources
from backend.rpc.broker import BrokerWatch
from backend.rpc.client import Calls, Waiting
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from backend.site import health, meta, openapi
from backend.site.client_wheel import router as client_wheel
from backend.site.guide import router as guide
from backend.site.page import STATIC, PageFallback
from backend.site.reference import router as reference
from backend.sweeps.endpoints import router as sweeps
from backend.telemetry.endpoints import router as metrics
from backend.telemetry.http_figures import RequestFigures
from backend.telemetry.http_traces import RequestTraces
from backend.telemetry.loop_delay import measure_loop_delay
from backend.tools.endpoints import router as tools
from backend.trackers.endpoints import router as trackers
from backend.usage.endpoints import router as usage
from backend.users import addresses
from backend.users.endpoints import router as sign_in
from backend.webhooks.endpoints import router as webhooks
from backend.workers.endpoints import jobs_router as worker_jobs
from backend.workers.endpoints import router as workers
from backend.workers.endpoints import worker_router as worker_api
from backend.workers.listener import WorkerListener
from reinforge import __version__
from reinforge.errors import Unavailable

log = logging.getLogger(__name__)

_DATABASE_WITHIN = 30.0
# Tried in this order, and those of a room in theirs: what is asked most stands first.
ROUTERS = (
    worker_jobs, worker_agents, openai_rollouts, openai_rollout_responses, agents, jobs, worker_api, sign_in,
    api_keys, projects, members, invitations, usage, audit,
    demo, examples, datasets, dataset_prompts, dataset_uploads, dataset_reports, reward_sources,
    reward_attacks, rewards, golden, tools,
    judges, base_models, preflights, job_defaults, evaluations, sweeps, playground, aliases, adapters, webhooks,
    notifications, trackers, workers,
    openai_graders, openai_files, openai_uploads, openai_jobs, openai_checkpoints, openai_models,
    deployments, openai_chat, client_wheel, health.router, meta.router, reference, guide, shared_jobs, mail_pages,
)  # fmt: skip


def create_app(settings: Settings | None = None, *, page: Path = STATIC, first_demo: bool = False) -> FastAPI:
    """Services exist only while the application runs. `first_demo`: start the demo job in an unused project."""
    app = FastAPI(
        title="Reinforge",
        version=__version__,
        summary="Self-hosted reinforcement fine-tuning.",
        lifespan=_lifespan,
        docs_url=None,  # `backend.site.reference` has it: FastAPI's page runs a script of another server
        redoc_url=None,
        redirect_slashes=False,  # the answer would name the host that the request names
        separate_input_output_schemas=False,
    )
    app.state.settings = settings or Settings()
    app.state.first_demo = first_demo
    app.state.bounds = Bounds(app.state.settings)
    app.state.sender_slots = SenderSlots()
    app.add_middleware(AuditTrail)
    app.add_middleware(Admission)  # outside of the trail: what is refused there has changed nothing
    if (port := app.state.settings.worker_port) is not None:
        app.add_middleware(WorkerListener, port=port)
    errors.install(app)
    app.add_middleware(CompressJson)
    app.add_middleware(RequestTraces)
    app.add_middleware(RequestFigures)
    for router in ROUTERS:
        app.include_router(router)
    if app.state.settings.metrics_token is not None:
        app.include_router(metrics)
    openapi.serve(app)
    app.router.default = PageFallback(page)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    settings.home_folder.mkdir(parents=True, exist_ok=True)
    database = Database(
        settings.required_database_url(),
        pool_size=settings.pool_size,
        statement_seconds=settings.statement_seconds,
    )
    hub = Hub(database.conninfo)
    app.state.database, app.state.hub = database, hub
    app.state.live_jobs = LiveJobs(database, hub)
    app.state.objects = Objects(database, await asyncio.to_thread(configured_store, settings))
    app.state.calls = Calls(database, hub, limits=Waiting(settings.project_calls, settings.project_samples))
    app.state.loader = Loader(database, app.state.calls)
    app.state.sealer = Sealer(settings)
    app.state.wake_ups = WakeUps(settings)
    app.state.broker = BrokerWatch(settings)
    try:
        await _await_migrated(database)
        await _seed(database, settings)
        await hub.start()
        evaluator = Evaluator(database, app.state.calls, app.state.objects, settings)
        app.state.evaluator = evaluator
        tasks = [
            asyncio.create_task(base_models_service.seed_builtin(database, app.state.calls)),
            asyncio.create_task(evaluator.adopt()),
            asyncio.create_task(app.state.broker.run()),
            asyncio.create_task(CacheTidying(database, settings.home_folder).run()),
            asyncio.create_task(MemoryReturn().run()),
            asyncio.create_task(measure_loop_delay()),
        ]
        if (demo := await _first_demo(app)) is not None:
            tasks.append(demo)
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await evaluator.close()
            await close_children()
    finally:
        await app.state.loader.close()
        if (replayer := getattr(app.state, "replayer", None)) is not None:
            await replayer.close()
        if (adder := getattr(app.state, "adder", None)) is not None:
            await adder.close()
        await hub.stop()
        app.state.wake_ups.close()
        await database.close()


async def _first_demo(app: FastAPI) -> asyncio.Task[None] | None:
    state = app.state
    async with state.database.transaction() as session:
        project = await keys.default_project(session)
        if not await demo_service.should_start(
            session, project.id, state.settings, first_demo=state.first_demo
        ):
            return None
    services = SubmitServices(state.database, state.calls, state.objects, state.settings, state.wake_ups)
    starter = demo_service.DemoStarter(services)
    return asyncio.create_task(demo_service.start_first(starter, project.id))


async def _await_migrated(database: Database) -> None:
    clock = asyncio.get_running_loop().time
    deadline = clock() + _DATABASE_WITHIN
    while True:
        try:
            migrated = await is_migrated(database)
            break
        except OperationalError as error:
            if clock() > deadline:
                raise Unavailable(
                    f"The database does not answer: {error.orig}",
                    code="database_unavailable",
                    hint="Check DATABASE_URL.",
                ) from error
            await asyncio.sleep(0.5)
    if not migrated:
        raise Unavailable(
            "The database's schema does not match this version.",
            code="not_migrated",
            hint="Run `python -m backend migrate` first.",
        )


async def _seed(database: Database, settings: Settings) -> None:
    async with database.transaction() as session:
        await keys.default_project(session)
        if settings.bootstrap_api_key is not None:
            await keys.add_bootstrap_key(session, settings.bootstrap_api_key.get_secret_value())
        else:
            path = settings.home_folder / "sign-in-url"
            await addresses.write_start_address(session, settings.url, path)
            log.info("sign in with the one-time address in %s", path)
