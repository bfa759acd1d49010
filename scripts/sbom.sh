#!/bin/sh
# sbom.sh [FOLDER]: write what the images and the page are made of, as CycloneDX JSON: FOLDER/backend.cdx.json, worker,
# sandbox and page. FOLDER is dist/sbom unless you name one. Run it after `make setup`; `make sbom` does both.
set -eu
cd "$(dirname "$0")/.."
out=${1:-dist/sbom}
tool=.venv-sbom/bin/cyclonedx-py
[ -x $tool ] || {
  .venv/bin/python -m venv .venv-sbom
  .venv-sbom/bin/python -m pip install --quiet --progress-bar off cyclonedx-bom==7.5.0
}
mkdir -p "$out"

image() { # image NAME GROUP...
  name=$1
  shift
  .venv/bin/python scripts/lock.py list "$@" > "$out/$name.txt"
  $tool requirements "$out/$name.txt" --mc-type application --pyproject pyproject.toml --output-reproducible \
    --validate --output-format JSON --output-file "$out/$name.cdx.json" 2> "$out/$name.log" || { cat "$out/$name.log" >&2; exit 1; }
  pinned=$(grep -c == "$out/$name.txt")
  listed=$(grep -c '"bom-ref": "requirements-' "$out/$name.cdx.json")
  [ "$pinned" = "$listed" ] || { echo "$out/$name.cdx.json has $listed of $pinned packages" >&2; exit 1; }
  rm "$out/$name.txt" "$out/$name.log"
  echo "$out/$name.cdx.json: $listed packages"
}

image backend base backend build
image worker base worker train build
image sandbox rewards build
PATH=$PWD/.venv/bin:$PATH npm --prefix frontend sbom --sbom-format cyclonedx --package-lock-only --loglevel=error \
  > "$out/page.cdx.json"
echo "$out/page.cdx.json: $(grep -c '"bom-ref": ' "$out/page.cdx.json") packages"
