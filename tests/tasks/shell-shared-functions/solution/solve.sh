#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
python3 - <<'END'
text = open("deploy.sh").read()
start, end = text.index("log()"), text.index("need SITE")
open("lib.sh", "w").write("# What the scripts share. To be sourced.\n\n" + text[start:end])
source = 'source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"\n'
for name in ["deploy.sh", "check.sh", "remove.sh"]:
    text = open(name).read()
    start, end = text.index("log()"), text.index("need SITE")
    open(name, "w").write(text[:start] + source + text[end:])
END
