"""Cuts a list into pages."""


def page_count(items, size):
    return len(items) // size


def page(items, number, size):
    """The page with this number, from 1."""
    start = number * size
    return items[start - size:start]


def heading(items, number, size):
    return f"page {number} of {page_count(items, size)}"
