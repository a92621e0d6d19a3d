#!/usr/bin/env bash
# Installs six servers of the protocol's own project by name, from npm and PyPI, and lets slug use each of
# them. Needs node with npm, and python3 with venv; not part of `cargo test`, which uses no network.
#
#   tests/mcp/official.sh          installs what is missing, then runs the tests
set -euo pipefail

cd "$(dirname "$0")/../.."
folder=${XDG_CACHE_HOME:-$HOME/.cache}/slug-mcp-servers
mkdir -p "$folder"

npm install --prefix "$folder" --no-audit --no-fund --silent \
  @modelcontextprotocol/server-everything \
  @modelcontextprotocol/server-filesystem \
  @modelcontextprotocol/server-memory

[ -e "$folder/python/bin/pip" ] || python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet mcp-server-time mcp-server-git mcp-server-fetch

SLUG_MCP_SERVERS=$folder cargo test --test integration mcp::official -- --ignored
