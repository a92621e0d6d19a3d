#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > paging.py <<'END'
"""Cuts a list into pages."""


def page_count(items, size):
    return max(1, -(-len(items) // size))


def page(items, number, size):
    """The page with this number, from 1."""
    if not 1 <= number <= page_count(items, size):
        raise IndexError(f"there is no page {number}")
    start = number * size
    return items[start - size:start]


def heading(items, number, size):
    return f"page {number} of {page_count(items, size)}"
END
