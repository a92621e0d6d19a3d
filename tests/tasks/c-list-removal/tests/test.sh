#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cp "$here/hidden.c" hidden.c
cc -std=c11 -Wall -Wextra -Werror -g -fsanitize=address,undefined -o hidden hidden.c list.c
ASAN_OPTIONS=detect_leaks=0 ./hidden
