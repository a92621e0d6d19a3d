#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cp "$here/test_hidden.py" test_hidden.py
python3 -m unittest -q test_hidden
