#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
python3 -m unittest -q
python3 - <<'END'
import json, os, tempfile
from shop import coupons, goods
from shop.cart import Cart
from shop.money import money
def load(rows):
    path = os.path.join(tempfile.mkdtemp(), "c.json")
    json.dump(rows, open(path, "w"))
    return coupons.load(path)
for bad in ({"percent": 1, "amount": "1"}, {}, {"minimum": "3"}):
    try:
        load({"BAD1": bad})
    except ValueError as error:
        assert "BAD1" in str(error)
    else:
        raise AssertionError("a wrong coupon was read")
all = load({"TEN": {"percent": 10}, "FIVE": {"amount": "5.00"}, "BIG": {"amount": "99.00"},
            "MIN": {"percent": 50, "minimum": "20.00"}})
def cart(*names):
    it = Cart(goods.load())
    for name in names:
        it.add(name)
    return it
it = cart("coffee")
it.apply(all["TEN"])
assert it.total() == money("7.45") - money("0.75") + money("4.90"), it.total()
it.apply(all["FIVE"])
assert it.total() == money("7.35"), it.total()
it.apply(all["BIG"])
assert it.total() == money("4.90"), it.total()
it = cart("tea")
it.apply(all["MIN"])
assert it.total() == money("9.90") and it.notes() == ["coupon MIN needs at least 20.00"], it.notes()
it.add("cake")
assert it.notes() == [] and it.total() == money("17.50") + it.shipping()
assert isinstance(json.load(open("catalogue/coupons.json")), dict)
END
echo '{"SAVE10": {"percent": 10}}' > catalogue/coupons.json
[ "$(python3 -m shop add tea 2 -- coupon save10)" = "2 x tea           10.00
discount SAVE10   -1.00
shipping           4.90
total             13.90" ]
status=0; error=$(python3 -m shop add tea 1 -- coupon nope 2>&1 >/dev/null) || status=$?
[ "$status" = 2 ] && [ "$error" = "unknown coupon: nope" ]
grep -qi coupon README.md && grep -qi coupon test_shop.py
