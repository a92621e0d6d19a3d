#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python3 check-links.py
python3 "$here/check.py" .
for file in docs/*.md README.md; do
  diff <(sed -E 's/\]\([^)]*\)/]()/g' "$file") <(sed -E 's/\]\([^)]*\)/]()/g' "$here/original/$file")
done
grep -q '(usage.md)' docs/setup.md && grep -q '#first-steps)' docs/faq.md && grep -q 'themes.md#what-is-next)\|(themes.md)' docs/limits.md
grep -q 'images/logo.svg' docs/themes.md && grep -q 'https://example.org/x.md' docs/credits.md
sed -i 's/(usage.md)/(nowhere.md)/' docs/setup.md
status=0; out=$(python3 check-links.py) || status=$?
[ "$status" = 1 ] && grep -q 'setup.md: nowhere.md' <<< "$out" && [ "$(wc -l <<< "$out")" = 1 ]
