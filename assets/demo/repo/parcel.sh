#!/bin/sh
# parcel.sh GRAMS: prints the price of a parcel.

here=$(dirname "$0")
. "$here/lib/rates.sh"
. "$here/lib/money.sh"

case $1 in
    '' | *[!0-9]*)
        echo "usage: parcel.sh GRAMS" >&2
        exit 2
        ;;
esac

cents=$(price_of "$1") || {
    echo "parcel.sh: $1 g is too heavy, 10000 g is the most" >&2
    exit 1
}
format_money "$cents"
