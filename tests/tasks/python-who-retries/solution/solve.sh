#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
printf 'policy.again\n4\n3.5\n' > answer.txt
