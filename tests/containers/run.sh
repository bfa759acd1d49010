#!/usr/bin/env bash
# run.sh [WORK]: build the images of this checkout, run docker-compose.yml with a short job in a real Docker, stop it.
#
# Uses the machine's Docker where its daemon answers, else one of its own (own_docker.sh: Debian, root, no registry).
# WORK (/tmp/reinforge-containers) keeps downloads and images between runs: several GB. `make test-containers` runs it.
# GPU_TARGETS="worker-gpu worker-vllm" builds these as well: with CUDA, tens of GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../.." && pwd)
work=${1:-/tmp/reinforge-containers}
mkdir -p "$work"
cd "$work"

step() { printf '=== %4d s  %s\n' "$SECONDS" "$*"; }
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

if docker info > /dev/null 2>&1; then
  inside() { "$@"; }
  seen=$work
else
  # shellcheck source=own_docker.sh
  . "$here/own_docker.sh"
  seen=/work
fi
compose() { inside docker compose -p reinforge-test --env-file "$seen/env" -f "$seen/src/docker-compose.yml" "$@"; }
shown() { tail -25 "$1" >&2; fail "$2"; }

finish() {
  local status=$?
  if [ "$status" != 0 ] && [ -e env ]; then
    compose ps -a --format '{{.Service}}: {{.Status}}' >&2 || true
    compose logs --tail 15 >&2 || true
  fi
  compose down -v > /dev/null 2>&1 || true
  if [ "$seen" = /work ]; then
    inside docker image prune --force > /dev/null 2>&1 || true # images that a newer build replaced
    stop_own_docker
  fi
  exit "$status"
}
trap finish EXIT

step "copy the checkout"
rm -rf src && mkdir src
(cd "$checkout" && git ls-files -co --exclude-standard -z | tar --null --ignore-failed-read -cf - -T - 2> /dev/null) | tar -xf - -C src

torch_index=()
if [ "$seen" = /work ]; then
  step "Debian trees"
  debian_trees
  if local_torch; then torch_index=("TORCH_INDEX="); fi
  step "daemon"
  start_daemon
  step "base images"
  base_images
fi

step "a missing secret is refused with its name"
printf 'POSTGRES_PASSWORD=x\n' > env
compose config > config.log 2>&1 && fail "docker-compose.yml started without secrets"
grep -q 'set it in .env' config.log || shown config.log "the message does not say what to do"

step "build"
rm -f env && src/scripts/make_env.sh "$work/env" > /dev/null
printf '%s\n' "REINFORGE_VERSION=test" "REINFORGE_PORT=18321" "MODELS=$seen/models" "HF_ENDPOINT=http://127.0.0.1:9" \
  "REINFORGE_TRUSTED_PROXIES=172.16.0.0/12" \
  "${torch_index[@]}" >> env
if [ "$seen" = /work ]; then unpinned >> env; fi
mkdir -p models

step "docker-compose.gpu.yml: read with and without it"
compose config worker calls > plain.log 2>&1 || shown plain.log "docker-compose.yml is not read"
if grep -E 'nvidia|worker-vllm' plain.log; then fail "docker-compose.yml alone asks for a GPU"; fi
with_gpus() { compose -f "$seen/src/docker-compose.gpu.yml" "$@"; }
with_gpus config worker calls > gpu-all.log 2>&1 || shown gpu-all.log "docker-compose.gpu.yml is not read"
awk '/^[^ ]/ { on = /^services:/ } on' gpu-all.log > gpu.log # without the templates x-…
for setting in 'driver: nvidia' 'count: -1' 'target: worker-vllm' 'shm_size: "8589934592"' 'TRITON_CACHE_DIR: '; do
  [ "$(grep -c -- "$setting" gpu.log)" = 2 ] || shown gpu.log "worker and calls do not both have $setting"
done
for target in ${GPU_TARGETS:-}; do
  step "build $target"
  printf 'WORKER_TARGET=%s\n' "$target" >> env
  with_gpus build worker > build-gpu.log 2>&1 || shown build-gpu.log "$target does not build"
  sed -i '/^WORKER_TARGET=/d' env
done

key=$(sed -n 's/^REINFORGE_API_KEY=//p' env)
compose build > build.log 2>&1 || shown build.log "the images do not build"

step "up"
compose down -v > /dev/null 2>&1 # the database of an interrupted run has another password
compose up -d --no-build --wait > up.log 2>&1 || shown up.log "docker compose up --wait failed"
compose ps -a --format '{{.Service}}: {{.Status}}'

step "the jail in the sandbox, the doctor in api and worker"
compose exec -T sandbox python -m worker.sandbox status --socket /run/reinforge/sandbox.sock | tee status.json
grep -q '"available": true' status.json || fail "no jail holds in the sandbox's container"
for service in api worker calls; do
  compose exec -T $service reinforge doctor > doctor.log 2>&1 || shown doctor.log "the doctor fails in $service"
  if grep -E 'pip install|make (setup|vllm)' doctor.log; then fail "the doctor's advice in $service is for a checkout"; fi
done
cat doctor.log

step "the settings"
compose exec -T api python -c 'import os; assert os.environ["REINFORGE_URL"] == "http://localhost:18321", os.environ["REINFORGE_URL"]'
compose exec -T worker python -c 'import os; assert os.environ["HF_ENDPOINT"] and "HF_TOKEN" not in os.environ and "AWS_ACCESS_KEY_ID" not in os.environ'
compose port api 8321 | tee port.log
grep -q '^127\.0\.0\.1:18321$' port.log || fail "the port is not published on 127.0.0.1 alone"

step "a proxy on the host: its X-Forwarded-Proto makes the cookie Secure"
inside docker run --rm --network host -e KEY="$key" python:3.12-slim python -c '
import json, os, urllib.request as u
body = json.dumps({"token": os.environ["KEY"]}).encode()
headers = {"content-type": "application/json", "x-forwarded-proto": "https"}
answer = u.urlopen(u.Request("http://127.0.0.1:18321/api/v1/sign-in", body, headers))
print(answer.headers["set-cookie"].partition(";")[2])' > cookie.log 2>&1 || shown cookie.log "nobody can sign in through the published port"
grep -q Secure cookie.log || shown cookie.log "the proxy is not trusted"

step "the client, installed from the server"
cat > client.sh <<'CLIENT'
set -eu
name=$(python -c 'import urllib.request as u; print(u.urlopen("http://api:8321/client/latest").read().decode().strip())')
pip install --quiet "http://api:8321/client/$name"
python -c 'import reinforge; print("client", reinforge.__version__)'
REINFORGE_URL=http://api:8321 reinforge job list
CLIENT
inside docker run --rm --network reinforge-test_inner -e REINFORGE_API_KEY="$key" -v "$seen/client.sh:/client.sh:ro" \
  python:3.12-slim sh /client.sh > client.log 2>&1 || shown client.log "the client cannot be installed from the server"
cat client.log

step "the demo's job, ten steps"
compose exec -T -e REINFORGE_API_KEY="$key" -e REINFORGE_URL=http://127.0.0.1:8321 api sh -c '
  cp -r examples/arithmetic /tmp/job && cd /tmp/job
  sed -i "s/steps: 60, checkpoint_every: 20/steps: 10, checkpoint_every: 5/" job.yaml && grep -q "steps: 10" job.yaml
  reinforge job create -f job.yaml --wait --json > created.json
  id=$(python -c "import json; job = json.load(open(\"created.json\")); print(job[\"id\"], job[\"status\"])")
  echo "$id"
  reinforge adapter download "${id%% *}" --to adapter
' > job.log 2>&1 || shown job.log "the job failed"
tail -3 job.log
grep -q ' succeeded$' job.log || shown job.log "the job did not succeed"
job=$(sed -n 's/ succeeded$//p' job.log)

step "models and caches outlive the worker's container"
compose exec -T worker sh -c 'touch /var/lib/reinforge/mark /home/reinforge/.cache/mark; ls -d /models'
compose up -d --no-build --no-deps --force-recreate --wait worker > again.log 2>&1 || shown again.log "the worker does not come back"
compose exec -T worker ls /var/lib/reinforge/mark /home/reinforge/.cache/mark

step "backup, and restore into empty volumes"
rm -rf backup && mkdir backup && chown 10001 backup
mounted() { compose run --rm --no-deps -v "$seen/backup:/backup" api "$@"; }
mounted reinforge backup /backup > backup.log 2>&1 || shown backup.log "the backup failed"
compose down -v > down.log 2>&1
compose up -d --no-build --wait postgres > again.log 2>&1 || shown again.log "postgres does not start"
mounted reinforge restore /backup > restore.log 2>&1 || shown restore.log "the restore failed"
compose up -d --no-build --wait > again.log 2>&1 || shown again.log "the restored platform does not start"
compose exec -T -e REINFORGE_API_KEY="$key" -e REINFORGE_URL=http://127.0.0.1:8321 api sh -c '
  reinforge job list && cd /tmp && reinforge adapter download '"$job"' --to adapter
' > restored.log 2>&1 || shown restored.log "the adapter of before the backup is gone"
tail -2 restored.log

step "stop"
compose stop > stop.log 2>&1 || shown stop.log "docker compose stop failed"
compose ps -a --format '{{.Service}}: {{.Status}}'
if compose ps -a --format '{{.Status}}' | grep -vE '^Exited \((0|143)\)'; then fail "a container did not stop cleanly"; fi
if compose logs sandbox | grep Traceback; then fail "the sandbox logs a traceback at SIGTERM"; fi

step "an edit installs no library again"
printf '\n# edited\n' >> src/reinforge/__init__.py
sed -i 's/^line-length = .*/line-length = 111/' src/pyproject.toml
compose build worker > rebuild.log 2>&1 || shown rebuild.log "the edited worker does not build"
if grep -E 'Collecting (torch|pydantic)' rebuild.log; then fail "an edit downloads libraries again"; fi
step done
