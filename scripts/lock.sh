#!/bin/sh
# Write requirements.lock from the current environment: exact versions, no local builds, nothing editable.
set -eu
cd "$(dirname "$0")/.."
{
  echo "# Versions that CI uses. Written by scripts/lock.sh."
  .venv/bin/python -m pip freeze --exclude-editable | grep -v '^-e ' |
    sed -E 's/^([A-Za-z0-9_.-]+)==([^+]+)\+cpu$/\1==\2/; s/^torch @ .*/torch==2.13.0/' | grep -v ' @ ' | grep -v '^trl=='
} > requirements.lock
