#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
export CARGO_TARGET_DIR=$(mktemp -d)
trap 'rm -rf "$CARGO_TARGET_DIR"' EXIT
[ "$(sed 's/[[:space:]]*$//' answer.txt | sed '/^$/d')" = "Game::resume
src/game.rs:21
yes" ]
