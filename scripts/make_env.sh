#!/bin/sh
# make_env.sh [FILE]: write FILE (.env) from .env.example with a fresh secret for every setting that needs one.
# An existing file stays as it is: the database keeps the password that it was made with.
set -eu
example=$(dirname "$0")/../.env.example
file=${1:-$(dirname "$0")/../.env}
if [ -e "$file" ]; then
  echo "$file exists and stays as it is." >&2
  exit 1
fi

secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

umask 077
while IFS= read -r line; do
  case $line in
    REINFORGE_API_KEY=) line="${line}rf-$(secret)" ;;
    [A-Z]*=) line="$line$(secret)" ;;
  esac
  printf '%s\n' "$line"
done < "$example" > "$file.new"
mv "$file.new" "$file"
echo "Wrote $file. Sign in with REINFORGE_API_KEY of this file."
