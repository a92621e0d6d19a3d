#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
sed -i 's/(use.md)/(usage.md)/' docs/setup.md
sed -i 's/#first-step)/#first-steps)/' docs/faq.md
sed -i 's/readme.md/README.md/' docs/api.md
sed -i 's/(docs\/models.md)/(models.md)/' docs/keys.md
sed -i 's/#whats-next/#what-is-next/' docs/limits.md
sed -i 's/HISTORY.md/history.md/' README.md
sed -i 's/logo.png/logo.svg/' docs/themes.md
cat > check-links.py <<'END'
"""Prints the dead links of the handbook."""

import os
import re
import sys
from pathlib import Path


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchors(text):
    headings = re.findall(r"^#+ +(.*?) *$", without_code(text), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", it.lower()).replace(" ", "-") for it in headings}


def is_there(path):
    return path.exists() and path.name in os.listdir(path.parent)


dead = []
for file in sorted([*Path("docs").glob("*.md"), Path("README.md")]):
    for link in re.findall(r"\]\(([^)]*)\)", without_code(file.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(file.parent / path)) if path else file
        if not is_there(target) or (anchor and anchor not in anchors(target.read_text())):
            dead.append(f"{file}: {link}")
print("\n".join(dead), end="\n" if dead else "")
sys.exit(1 if dead else 0)
END
