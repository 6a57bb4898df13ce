#!/usr/bin/env bash
# Writes the newest versions that fit together into clients.lock and server.lock. Needs the environments of ../setup.sh, for uv.
set -euo pipefail
cd "$(dirname "$0")"
for name in clients server; do
  ../.venv/clients/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
    --no-header --no-annotate --no-emit-index-url --output-file "$name.lock" "$name.in"
done
