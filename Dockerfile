# One file, three images: `backend` (api and background), `worker` (trainer and calls; torch), `sandbox` (nothing
# but the libraries that rewards import: nothing to steal, no network, see docker-compose.yml).
#
#   docker build --target backend -t reinforge-backend .
#   docker build --target worker  -t reinforge-worker --build-arg TORCH_INDEX= .      (GPU build, several GB)

FROM node:24-slim AS page
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

FROM python:3.12-slim AS base
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN useradd --create-home --uid 10001 reinforge && install -d -o reinforge -g reinforge /var/lib/reinforge /run/reinforge
WORKDIR /app
COPY pyproject.toml requirements.lock README.md LICENSE alembic.ini ./
COPY reinforge reinforge
COPY examples/arithmetic examples/arithmetic

FROM base AS backend
COPY backend backend
COPY worker/__init__.py worker/__init__.py
COPY migrations migrations
COPY --from=page /src/frontend/dist frontend/dist
RUN pip install --constraint requirements.lock --editable '.[backend]'
USER reinforge
ENV REINFORGE_HOME=/var/lib/reinforge
EXPOSE 8321
CMD ["python", "-m", "backend", "api", "--host", "0.0.0.0", "--port", "8321"]

FROM base AS worker
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install torch==2.13.0 ${TORCH_INDEX:+--extra-index-url ${TORCH_INDEX}}
COPY worker worker
COPY backend/__init__.py backend/__init__.py
RUN pip install --constraint requirements.lock --editable '.[worker,train]'
USER reinforge
ENV REINFORGE_HOME=/var/lib/reinforge
CMD ["python", "-m", "worker"]

FROM python:3.12-slim AS sandbox
# Jail N where the host lets containers make user namespaces; jail L (Landlock) needs no package.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 reinforge && install -d -o reinforge -g reinforge /var/lib/reinforge /run/reinforge
WORKDIR /app
COPY worker/__init__.py worker/__init__.py
COPY pyproject.toml requirements.lock ./
# Of the platform's packages only what rewards may import.
RUN python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['rewards'], sep='\n')" > rewards.txt \
    && pip install --no-cache-dir --constraint requirements.lock --requirement rewards.txt
COPY worker/sandbox worker/sandbox
# The jails' own interpreter is made here, because at run time nothing is writable and executable at once.
ENV PYTHONUNBUFFERED=1 REINFORGE_HOME=/var/lib/reinforge REINFORGE_PREFIX=/opt/reinforge
RUN python -c "from worker.sandbox.prefix import ensure_prefix; ensure_prefix()"
USER reinforge
CMD ["python", "-m", "worker.sandbox", "--socket", "/run/reinforge/sandbox.sock"]
