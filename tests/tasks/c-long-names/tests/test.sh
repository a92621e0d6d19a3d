#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
cc -std=c11 -D_POSIX_C_SOURCE=200809L -g -fsanitize=address,undefined -o greet greet.c
export ASAN_OPTIONS=detect_leaks=0
[ "$(./greet Ada)" = "Good morning, Ada!" ]
[ "$(./greet '100%s %n%d')" = "Good morning, 100%s %n%d!" ]
long=$(printf 'x%.0s' $(seq 5000))
[ "$(./greet "$long")" = "Good morning, $long!" ]
status=0; out=$(./greet 2>err.txt) || status=$?
[ "$status" = 2 ] && [ -z "$out" ] && [ -s err.txt ]
make -B CFLAGS="-std=c11 -Wall -Wextra -Werror -Wformat-security" >/dev/null
