#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
[ "$(sed 's/[[:space:]]*$//; s/(n)//' answer.txt | sed '/^$/d')" = "PAGES
-4091
16384" ]
