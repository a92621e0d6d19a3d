#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
python3 - <<'END'
import paging
items = list(range(7))
assert paging.page_count(items, 3) == 3
assert paging.page_count([], 3) == 1
assert paging.page_count(list(range(6)), 3) == 2
assert paging.page(items, 1, 3) == [0, 1, 2]
assert paging.page(items, 3, 3) == [6]
assert paging.page([], 1, 3) == []
assert paging.heading(items, 3, 3) == "page 3 of 3"
assert paging.heading([], 1, 3) == "page 1 of 1"
for wrong in (0, 4, -1):
    try:
        paging.page(items, wrong, 3)
    except IndexError:
        continue
    raise AssertionError(f"page {wrong} exists")
END
