#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export CARGO_TARGET_DIR=$(mktemp -d)
trap 'rm -rf "$CARGO_TARGET_DIR"' EXIT
cp "$here/hidden.rs" tests/hidden.rs 2>/dev/null || { mkdir -p tests; cp "$here/hidden.rs" tests/hidden.rs; }
! grep -rnE "unwrap\(\)|expect\(|panic!|unreachable!|todo!" src
cargo test -q --offline
