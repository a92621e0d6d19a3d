#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
[ "$(git branch --show-current)" = feature ] && [ -z "$(git status --porcelain)" ]
[ "$(git log --reverse --format=%s main..feature)" = "Convert to miles
Convert to pounds
Say how it is used" ]
[ "$(git merge-base main feature)" = "$(git rev-parse main)" ]
for commit in $(git rev-list --reverse main..feature); do
  git checkout -q "$commit"
  [ "$(bash tests/run.sh)" = "all pass" ]
done
git checkout -q feature
[ "$(DIGITS=4 bash units.sh miles 10)" = "6.2137" ] && [ "$(DIGITS=0 bash units.sh pounds 10)" = "22" ]
status=0; bash units.sh nothing 1 2>/dev/null || status=$?; [ "$status" = 1 ]
[ -z "$(git diff main -- tests/case-style tests/case-digits tests/case-celsius)" ]
