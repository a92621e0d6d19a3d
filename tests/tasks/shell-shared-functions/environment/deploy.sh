#!/bin/bash
set -eu
log() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
}
need() {
  local name
  for name in "$@"; do
    [ -n "${!name:-}" ] || { log "$name is not set"; exit 3; }
  done
}
retry() {
  local tries=$1 at
  shift
  for ((at = 1; at <= tries; at++)); do
    "$@" && return 0
    log "try $at of $tries failed"
  done
  return 1
}
need SITE TOKEN
retry 3 "${COPY:-cp}" page.html "$SITE/page.html"
log "deployed"
