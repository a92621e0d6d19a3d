#!/bin/bash
set -eu
log() {
  echo "$(basename $0): $1"
}
need() {
  local name
  for name in "$@"; do
    [ -n "${!name:-}" ] || { log "$name is not set"; exit 3; }
  done
}
need SITE TOKEN
rm "$SITE/page.html"
log "removed"
