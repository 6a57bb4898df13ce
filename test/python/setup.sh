#!/usr/bin/env bash
# Makes the virtual environments of the tests in Python, .venv/clients and .venv/server, from requirements/*.lock.
# An environment whose lock has not changed stays as it is. Needs Python 3.11 or newer with venv.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}

"$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "The tests in Python need Python 3.11 or newer with venv. On Debian: apt-get install python3-venv" >&2
  exit 1
}

for name in clients server; do
  lock=requirements/$name.lock
  # The copy of the lock is written last: an installation that was interrupted begins again.
  cmp -s "$lock" ".venv/$name/installed.lock" && continue
  rm -rf ".venv/$name"
  "$python" -m venv ".venv/$name"
  [ "$name" = clients ] && ".venv/clients/bin/pip" install --quiet --disable-pip-version-check "$(grep '^uv==' "$lock")"
  .venv/clients/bin/uv pip install --quiet --python ".venv/$name/bin/python" --requirement "$lock"
  cp "$lock" ".venv/$name/installed.lock"
done
