#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
TASK_TESTS=$(cd "$(dirname "$0")" && pwd)
export TASK_TESTS
python3 - <<'END'
import csv, json
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
expected, rejected, seen = {}, [], set()
import os
for row in csv.DictReader(open(os.environ["TASK_TESTS"] + "/orders.csv")):
    if row["order"] in seen:
        continue
    seen.add(row["order"])
    try:
        amount = Decimal(row["amount"].replace(",", "."))
    except InvalidOperation:
        rejected.append(row["order"])
        continue
    if row["currency"].upper() == "USD":
        amount *= Decimal("0.90")
    entry = expected.setdefault(row["customer"].strip().lower(), [0, Decimal()])
    entry[0] += 1
    entry[1] += amount.quantize(Decimal("0.01"), ROUND_HALF_UP)
text = open("summary.json").read()
summary = json.loads(text)
assert list(summary) == sorted(expected), list(summary)
for name, (orders, eur) in expected.items():
    assert summary[name] == {"orders": orders, "eur": str(eur)}, (name, summary[name], orders, eur)
assert open("rejected.txt").read().split() == rejected
END
