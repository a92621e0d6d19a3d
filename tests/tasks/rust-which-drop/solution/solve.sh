#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
printf 'Game::resume\nsrc/game.rs:21\nyes\n' > answer.txt
