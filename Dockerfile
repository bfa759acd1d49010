# One file, three images: `backend` (api and background), `worker` (trainer and calls; torch) and `sandbox` (only the
# libraries that rewards import: no secret and no network, see docker-compose.yml). On GPUs docker-compose.gpu.yml takes
# `worker-gpu` (worker and a C compiler, for Triton's kernels) or `worker-vllm` (that and vLLM) in place of `worker`.
#
#   docker compose build                        # all of them, with PyTorch's CPU build
#   docker compose -f docker-compose.yml -f docker-compose.gpu.yml build     # with CUDA and vLLM
#
# Libraries are installed before the sources are copied, so that an edit rebuilds an image in seconds. Every file is compared
# with its hash in requirements.lock, except torch, whose builds differ by index. Base images are pinned by the
# digest of their index of architectures; `make image-digests` writes the newest one of each tag.
ARG NODE_IMAGE=node:24-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG PYTHON_IMAGE=python:3.12-slim@sha256:dddfd7e07f9d15aeeca61529320492139d21cac7f0070c00609243e51e4e0016

FROM ${NODE_IMAGE} AS page
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

# Only the lists leave this stage: what changes for one image installs nothing again in another.
FROM ${PYTHON_IMAGE} AS requirements
WORKDIR /lists
COPY requirements.lock ./
COPY scripts/lock.py scripts/
RUN python scripts/lock.py print build > build.txt \
    && python scripts/lock.py print base backend otel > backend.txt \
    && python scripts/lock.py print base worker train otel > worker.txt \
    && python scripts/lock.py print rewards > rewards.txt

FROM ${PYTHON_IMAGE} AS base
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# Volumes take the owner of the folder that they cover.
RUN useradd --create-home --uid 10001 reinforge \
    && install -d -o reinforge -g reinforge \
       /var/lib/reinforge /var/lib/reinforge/objects /run/reinforge /home/reinforge/.cache
WORKDIR /app

FROM base AS backend
COPY --from=requirements /lists/build.txt /lists/backend.txt /tmp/
RUN pip install --no-deps --require-hashes --requirement /tmp/build.txt \
    && pip install --no-deps --require-hashes --no-build-isolation --requirement /tmp/backend.txt
COPY pyproject.toml README.md LICENSE alembic.ini ./
RUN pip install --no-deps --no-build-isolation --editable .
COPY reinforge reinforge
COPY examples examples
COPY backend backend
COPY worker/__init__.py worker/__init__.py
COPY migrations migrations
COPY docs docs
COPY --from=page /src/frontend/dist frontend/dist
RUN python -m compileall -q /app
USER reinforge
ENV REINFORGE_HOME=/var/lib/reinforge REINFORGE_CONTAINER=backend
EXPOSE 8321
CMD ["python", "-m", "backend", "api", "--host", "0.0.0.0", "--port", "8321"]

FROM base AS worker-libraries
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
# Builds with CUDA bring NVIDIA's libraries; the CPU build requires nothing that worker.txt lacks.
RUN case "${TORCH_INDEX}" in \
      "") pip install torch==2.13.0 ;; \
      */cpu) pip install torch==2.13.0 --no-deps --index-url "${TORCH_INDEX}" ;; \
      *) pip install torch==2.13.0 --index-url "${TORCH_INDEX}" ;; \
    esac
COPY --from=requirements /lists/build.txt /lists/worker.txt /tmp/
RUN pip install --no-deps --require-hashes --requirement /tmp/build.txt \
    && pip install --no-deps --require-hashes --no-build-isolation --requirement /tmp/worker.txt
ENV REINFORGE_HOME=/var/lib/reinforge REINFORGE_CONTAINER=worker

FROM worker-libraries AS worker
COPY pyproject.toml README.md LICENSE ./
RUN pip install --no-deps --no-build-isolation --editable .
COPY reinforge reinforge
COPY examples examples
COPY worker worker
COPY backend/__init__.py backend/__init__.py
RUN python -m compileall -q /app
USER reinforge
CMD ["python", "-m", "worker"]

# Triton compiles a C extension where it runs. Python's headers are in the official images of Python; other base images
# need them as a package (python3-dev), which vllm_compiler.py says.
FROM worker-libraries AS worker-compiler
COPY worker/machine/vllm_compiler.py /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/* \
    && python /tmp/vllm_compiler.py "$(command -v python)"

FROM worker-compiler AS worker-gpu
COPY --from=worker /app /app
RUN pip install --no-deps --no-build-isolation --editable .
USER reinforge
CMD ["python", "-m", "worker"]

# vLLM wants another torch and transformers than the trainer, hence an environment of its own.
FROM worker-compiler AS worker-engine
RUN python -m venv /opt/vllm && /opt/vllm/bin/pip install vllm==0.32.0
ENV REINFORGE_VLLM_PYTHON=/opt/vllm/bin/python

FROM worker-engine AS worker-vllm
COPY --from=worker /app /app
RUN pip install --no-deps --no-build-isolation --editable .
USER reinforge
CMD ["python", "-m", "worker"]

FROM ${PYTHON_IMAGE} AS sandbox
# Jail N where the host lets containers make user namespaces; jail L (Landlock) needs no package. openssl makes the key file
# of a sandbox that listens for other machines.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap openssl && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 reinforge && install -d -o reinforge -g reinforge /var/lib/reinforge /run/reinforge
WORKDIR /app
COPY --from=requirements /lists/build.txt /lists/rewards.txt /tmp/
# Of the platform's packages only what rewards may import.
RUN pip install --no-cache-dir --no-deps --require-hashes --requirement /tmp/build.txt \
    && pip install --no-cache-dir --no-deps --require-hashes --no-build-isolation --requirement /tmp/rewards.txt
COPY worker/__init__.py worker/__init__.py
COPY worker/sandbox worker/sandbox
# The jails' own interpreter is made here, because at run time nothing is writable and executable at once.
ENV PYTHONUNBUFFERED=1 REINFORGE_HOME=/var/lib/reinforge REINFORGE_PREFIX=/opt/reinforge
RUN python -m compileall -q /app && python -c "from worker.sandbox.jails.prefix import ensure_prefix; ensure_prefix()"
USER reinforge
CMD ["python", "-m", "worker.sandbox", "--socket", "/run/reinforge/sandbox.sock"]
