#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
[ "$(sed 's/[[:space:]]*$//' answer.txt | sed '/^$/d')" = "policy.again
4
3.5" ] || [ "$(sed 's/[[:space:]]*$//' answer.txt | sed '/^$/d')" = "inventory.policy.again
4
3.5" ]
