#!/bin/sh
# Checks parcel.sh against the price list in README.md.

cd "$(dirname "$0")" || exit 1
failed=0

# costs GRAMS PRICE
costs() {
    got=$(sh parcel.sh "$1" 2>/dev/null) || got=refused
    if [ "$got" = "$2" ]; then
        echo "ok    $1 g costs $2"
    else
        echo "FAIL  $1 g costs $2, got $got"
        failed=$((failed + 1))
    fi
}

costs 1 2.90
costs 499 2.90
costs 500 2.90
costs 501 4.90
costs 2000 4.90
costs 2001 6.90
costs 5000 6.90
costs 10000 9.90
costs 10001 refused

echo
if [ "$failed" -gt 0 ]; then
    echo "$failed failed"
    exit 1
fi
echo "all passed"
