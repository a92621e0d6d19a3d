#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
make clean >/dev/null
make -j4 >/dev/null
[ "$(./app Ada)" = "Hello, Ada! (1.4)" ]
make -q || { echo "a second make does something"; exit 1; }
sleep 1.1
sed -i 's/MARKS 1/MARKS 3/' config.h
make >/dev/null
[ "$(./app Ada)" = "Hello, Ada!!! (1.4)" ]
sleep 1.1
echo 2.0 > VERSION
make >/dev/null
[ "$(./app Ada)" = "Hello, Ada!!! (2.0)" ]
sleep 1.1
sed -i 's/GREETING/WORD/' config.h greet.c
make >/dev/null
make clean >/dev/null
[ -z "$(ls | grep -E '\.(o|d)$|^app$')" ]
