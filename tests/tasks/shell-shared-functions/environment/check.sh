#!/bin/bash
set -eu
log() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
}
need() {
  for name in "$@"; do
    [ -n "${!name:-}" ] || { log "$name is not set"; exit 1; }
  done
}
retry() {
  local tries=$1 at
  shift
  for ((at = 0; at < tries; at++)); do
    "$@" && return 0
    log "try $at of $tries failed"
  done
  return 1
}
need SITE
retry 2 test -e "$SITE/page.html"
log "checked"
