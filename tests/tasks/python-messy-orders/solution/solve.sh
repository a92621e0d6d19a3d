#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
python3 - <<'END'
import csv, json
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
sums, rejected, seen = {}, [], set()
for row in csv.DictReader(open("orders.csv")):
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
    orders, eur = sums.get(row["customer"].strip().lower(), (0, Decimal()))
    sums[row["customer"].strip().lower()] = (orders + 1, eur + amount.quantize(Decimal("0.01"), ROUND_HALF_UP))
rows = {name: {"orders": orders, "eur": str(eur)} for name, (orders, eur) in sorted(sums.items())}
json.dump(rows, open("summary.json", "w"), indent=2)
open("rejected.txt", "w").write("".join(f"{it}\n" for it in rejected))
END
