#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > invoice.py <<'END'
"""Invoices: lines with a net price, a tax rate and a quantity."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


class Line:
    def __init__(self, name, price, quantity, tax_percent):
        """`price` is the net price of one piece, as text such as "19.99"."""
        self.name = name
        self.price = Decimal(price)
        self.quantity = quantity
        self.tax_percent = tax_percent

    def net(self):
        return self.price * self.quantity

    def tax(self):
        return (self.net() * self.tax_percent / 100).quantize(CENT, ROUND_HALF_UP)


class Invoice:
    def __init__(self, lines):
        self.lines = lines

    def total(self):
        """The sum to pay, with two decimals. The tax of each line is rounded half up."""
        return str(sum((line.net() + line.tax() for line in self.lines), Decimal()).quantize(CENT))
END
