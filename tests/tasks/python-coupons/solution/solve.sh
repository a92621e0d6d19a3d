#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > shop/coupons.py <<'END'
"""Coupons: a code that takes a percentage or an amount off the goods."""

import json
from dataclasses import dataclass
from decimal import Decimal

from shop.money import money


@dataclass
class Coupon:
    code: str
    percent: Decimal | None
    amount: Decimal | None
    minimum: Decimal

    def discount(self, goods):
        if goods < self.minimum:
            return money(0)
        off = self.amount if self.percent is None else money(goods * self.percent / 100)
        return min(off, goods)


def load(path="catalogue/coupons.json"):
    with open(path) as file:
        rows = json.load(file)
    coupons = {}
    for code, row in rows.items():
        if ("percent" in row) == ("amount" in row):
            raise ValueError(f"coupon {code} needs either a percentage or an amount")
        percent = Decimal(str(row["percent"])) if "percent" in row else None
        amount = money(row["amount"]) if "amount" in row else None
        coupons[code.upper()] = Coupon(code, percent, amount, money(row.get("minimum", 0)))
    return coupons
END
echo '{"SAVE10": {"percent": 10}, "FIVE": {"amount": "5.00", "minimum": "20.00"}}' > catalogue/coupons.json
python3 - <<'END'
import re
def edit(path, *pairs):
    text = open(path).read()
    for old, new in pairs:
        assert old in text, (path, old)
        text = text.replace(old, new, 1)
    open(path, "w").write(text)
edit("shop/cart.py",
     ("        self.items = []\n", "        self.items = []\n        self.coupon = None\n"),
     ("    def total(self):\n        return self.goods() + self.shipping()\n\n    def notes(self):\n        return []\n",
      '    def apply(self, coupon):\n        """The last coupon counts."""\n        self.coupon = coupon\n\n'
      '    def discount(self):\n        return self.coupon.discount(self.goods()) if self.coupon else money(0)\n\n'
      '    def total(self):\n        return self.goods() - self.discount() + self.shipping()\n\n'
      '    def notes(self):\n        if self.coupon and self.goods() < self.coupon.minimum:\n'
      '            return [f"coupon {self.coupon.code} needs at least {self.coupon.minimum}"]\n        return []\n'))
edit("shop/receipt.py", ('    lines.append(line("shipping"', '    if cart.discount():\n        lines.append(line(f"discount {cart.coupon.code}", -cart.discount()))\n    lines.append(line("shipping"'))
edit("shop/__main__.py", ("from shop import goods", "from shop import coupons, goods"),
     ("            case other:", '            case ["coupon", code]:\n                coupon = coupons.load().get(code.upper())\n                if coupon is None:\n                    print(f"unknown coupon: {code}", file=sys.stderr)\n                    return 2\n                cart.apply(coupon)\n            case other:'))
edit("README.md", ("from 50.00.", "from 50.00. `-- coupon SAVE10` takes off a coupon of catalogue/coupons.json."))
edit("test_shop.py", ("\n\nif __name__", '\n    def test_coupon(self):\n        cart = Cart(goods.load())\n        cart.add("tea", 2)\n        cart.apply(coupons.load()["SAVE10"])\n        self.assertEqual(cart.total(), money("13.90"))\n\n\nif __name__'),
     ("from shop import goods", "from shop import coupons, goods"))
END
