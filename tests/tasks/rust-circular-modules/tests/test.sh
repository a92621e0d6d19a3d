#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export CARGO_TARGET_DIR=$(mktemp -d)
trap 'rm -rf "$CARGO_TARGET_DIR"' EXIT
cp "$here/hidden.rs" tests/hidden.rs 2>/dev/null || { mkdir -p tests; cp "$here/hidden.rs" tests/hidden.rs; }
[ ! -e src/old ] && [ "$(cat src/*.rs | grep -c "enum Priority")" = 1 ]
RUSTFLAGS="-D warnings" cargo test -q --offline
