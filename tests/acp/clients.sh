#!/usr/bin/env bash
# Installs the SDK of the Agent Client Protocol for Node and the client acpx by name, from npm, and lets each
# drive a whole task with slug. Needs node with npm; not part of `cargo test`, which uses no network.
#
#   tests/acp/clients.sh [SLUG]     with target/debug/slug, or the slug that is named
set -euo pipefail

cd "$(dirname "$0")/../.."
here=$PWD
[ -n "${1:-}" ] || cargo build
slug=$(realpath "${1:-target/debug/slug}")
folder=${XDG_CACHE_HOME:-$HOME/.cache}/slug-acp-clients
mkdir -p "$folder"

npm install --prefix "$folder" --no-audit --no-fund --silent \
  @agentclientprotocol/sdk@2.4.0 zod@4 ajv@8 ajv-formats@3 acpx@0.19.1

node tests/acp/task.mjs "$slug" "$folder"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/home" "$root/shop"

# task ANSWER: a run of the task in which every question gets this answer.
task() {
  echo "500 g" > "$root/shop/price.txt"
  (cd "$root/shop" && HOME=$root/home "$folder/node_modules/.bin/acpx" \
    --agent "$slug --demo $here/tests/acp/task.toml acp" "$1" --format json exec "Fix the price")
}
task --approve-all | grep -q '"stopReason":"end_turn"'
[ "$(cat "$root/shop/price.txt")" = "450 g" ]
echo "acpx: the task is done"
task --deny-all > "$root/denied.jsonl" || true
grep -q '"stopReason"' "$root/denied.jsonl"
[ "$(cat "$root/shop/price.txt")" = "500 g" ]
echo "acpx: a no changes nothing"
