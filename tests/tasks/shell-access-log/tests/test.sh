#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
expected() { python3 "$here/expected.py" "$1"; }
[ "$(bash report.sh < access.log)" = "$(expected access.log)" ]
python3 - > other.log <<'END'
for i in range(1000):
    print(f'h{i % 7} - - [01/Jan/2026:00:00:00 +0000] "POST /p{i % 4}?q={i} HTTP/1.1" {[200, 404][i % 2]} {i if i % 3 else "-"}')
print("x")
END
[ "$(bash report.sh < other.log)" = "$(expected other.log)" ]
for i in $(seq 500); do cat access.log; done > big.log
timeout 10 bash report.sh < big.log >/dev/null
