#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
git diff --check
[ -z "$(git status --porcelain -uno)" ] && [ "$(git log -1 --format=%P | wc -w)" = 2 ]
case "$(git log -1 --format=%s)" in WIP*) exit 1 ;; esac
[ -z "$(git ls-files notes.txt)" ] && [ -e notes.txt ]
[ "$(git ls-files | sort | tr '\n' ' ')" = ".gitignore greet.py test_greet.py " ]
python3 -m unittest -q
python3 - <<'END'
from greet import greet
assert greet(" Ada ") == "Hello, Ada!"
assert greet("Ada", title="Dr.") == "Hello, Dr. Ada!", greet("Ada", title="Dr.")
for empty in ("", "  "):
    for title in ("", "Dr."):
        try:
            greet(empty, title)
        except ValueError:
            continue
        raise AssertionError("an empty name was greeted")
END
grep -q test_title test_greet.py && grep -q test_empty test_greet.py
