#!/usr/bin/env bash
# Unpacks three published packages of skills and commands, runs nothing of them, and lets slug load each; then
# validates slug's own skills with the checker of the specification. Needs npm, and python3 with venv; not part of
# `cargo test`, which uses no network.
#
#   tests/skills/packages.sh       prints each warning
set -euo pipefail

cd "$(dirname "$0")/../.."
folder=${XDG_CACHE_HOME:-$HOME/.cache}/slug-skill-packages
mkdir -p "$folder"

for package in oh-my-claude-sisyphus@5.5.0 bmad-method@6.12.0 get-shit-done-cc@1.32.0; do
  name=${package%@*}
  if [ ! -d "$folder/$name/package" ]; then
    archive=$(cd "$folder" && npm pack --silent "$package")
    mkdir -p "$folder/$name"
    tar xzf "$folder/$archive" -C "$folder/$name"
  fi
done

[ -e "$folder/python/bin/pip" ] || python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet skills-ref==0.1.1
for skill in assets/skills/*/; do
  "$folder/python/bin/agentskills" validate "${skill%/}"
done

SLUG_SKILL_PACKAGES=$folder cargo test --test integration skill_packages -- --ignored --nocapture
