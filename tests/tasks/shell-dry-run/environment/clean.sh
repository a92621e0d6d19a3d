#!/bin/bash
# clean.sh FOLDER: removes build leftovers.
set -eu
find "$1" \( -name '*.o' -o -name '*.tmp' \) -type f -delete
find "$1" -name target -type d -prune -exec rm -rf {} +
