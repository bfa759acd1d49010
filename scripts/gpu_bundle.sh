#!/bin/sh
# gpu_bundle.sh [--peer] [--have FILE] [--python 3.N] FOLDER: fill FOLDER with the wheels that a CUDA machine without
# network needs to run this checkout: benchmarks/gpu_check.py, and jobs with `reinforge train`. Run it after `make setup`.
#
# --have FILE    output of `python3 -m pip freeze` there: what it has is left out. Without it the machine is taken to have
#                torch, transformers and accelerate with their dependencies, pyarrow, httpx, typer and rich
# --peer         TRL and datasets too, for benchmarks/trainer_vs_trl.py
# --python 3.N   the machine's Python: 3.12, unless you name another of 3.11 to 3.13
#
# The machine brings torch itself. Copy FOLDER and the checkout there; the script ends with the command that installs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/.venv/bin/python
version=3.12 have='' peer=''
while [ $# -gt 0 ]; do
  case $1 in
    --peer) peer='trl datasets dill multiprocess pandas python-dateutil requests charset-normalizer six urllib3 xxhash' ;;
    --have) shift; [ -r "${1-}" ] || { echo "--have needs a file: the output of pip freeze on the machine." >&2; exit 2; }
            have=$(sed -n 's/^\([A-Za-z0-9][A-Za-z0-9._-]*\)[ =@].*/\1/p' "$1" | tr 'A-Z._\n' 'a-z\-\- ')' ' ;;
    --python) shift; version=${1-} ;;
    -*) echo "Unknown option $1. Options: --peer, --have FILE, --python 3.N." >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
case $version in 3.11 | 3.12 | 3.13) ;; *) echo "--python is 3.11, 3.12 or 3.13, not '$version'." >&2; exit 2 ;; esac
[ $# -eq 1 ] || { sed -n 's/^# \(gpu_bundle.sh.*\): fill.*/Usage: \1/p' "$0" >&2; exit 2; }
[ -x "$python" ] || { echo "There is no $python: run make setup first." >&2; exit 1; }
out=$1
case ${have:- torch } in
  *' torch '* | 'torch '*) ;;
  *) echo "The machine has no torch: install its CUDA build there, which this bundle does not bring." >&2; exit 1 ;;
esac
mkdir -p "$out"
if [ -n "$(ls "$out")" ]; then
  echo "$out is not empty: two versions of a package cannot be installed together. Empty it or name another folder." >&2
  exit 1
fi

: "${have:=accelerate annotated-doc anyio certifi charset-normalizer click filelock fsspec h11 hf-xet httpcore httpcore2 httpx
  httpx2 huggingface-hub idna jinja2 markdown-it-py markupsafe mdurl mpmath networkx numpy packaging pandas psutil
  pyarrow pygments python-dateutil pyyaml regex requests rich safetensors setuptools shellingham six sympy tokenizers
  tqdm truststore typer typing-extensions urllib3 xxhash}"
# Ours whatever the machine has: these are in the lock for their versions, and pydantic fits one pydantic-core alone.
own='transformers peft pydantic pydantic-core pydantic-settings typing-inspection annotated-types'
# Of the worker's packages those that a job without a platform imports.
offline='pydantic-settings python-dotenv tenacity'

wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
list() { # list GROUP...: names of the groups' packages
  "$python" "$root/scripts/lock.py" print "$@" | sed -n 's/^\([a-z0-9-]*\)==.*/\1/p'
}
has() { # has "WORDS" WORD
  case " $(echo $1) " in *" $2 "*) return 0 ;; esac
  return 1
}
names=''
for name in $(list base train) $offline $peer; do
  if has "$own" "$name" || ! has "$have" "$name"; then names="$names $name"; fi
done
"$python" "$root/scripts/lock.py" print base train worker dev | awk -v names="$names " '
  /^[a-z0-9]/ { split($1, name, "=="); print_it = index(names, " " name[1] " ") }
  print_it' > "$wanted"

# pip matches the number of a glibc exactly, and prefers what is named first.
platforms='manylinux1_x86_64 manylinux2010_x86_64 manylinux2014_x86_64'
for glibc in 5 12 17 24 26 27 28 31; do platforms="$platforms manylinux_2_${glibc}_x86_64"; done
# shellcheck disable=SC2046
"$python" -m pip download --quiet --progress-bar off --no-deps --only-binary=:all: --require-hashes \
  --implementation cp --python-version "$version" $(printf -- '--platform %s ' $platforms) -d "$out" -r "$wanted"
# The installed package's name and version are part of every job's record. Its code is the checkout's.
"$python" -m pip wheel --quiet --progress-bar off --no-deps --no-build-isolation -w "$out" "$root"

echo "$(ls "$out" | wc -l) wheels, $(du -cb "$out"/*.whl | tail -n 1 | awk '{ printf "%.1f", $1 / 1e6 }') MB, in $out. There, in the checkout:"
echo "  python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site $(basename "$out")/*.whl"
echo "  export PYTHONPATH=\$PWD:/tmp/site"
echo "  python3 benchmarks/gpu_check.py"
