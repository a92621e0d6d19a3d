# The price list. Weights are in grams, prices in cents.

# price_of GRAMS: prints the price, or fails for what is too heavy.
price_of() {
    if [ "$1" -lt 500 ]; then
        echo 290
    elif [ "$1" -lt 2000 ]; then
        echo 490
    elif [ "$1" -lt 5000 ]; then
        echo 690
    elif [ "$1" -lt 10000 ]; then
        echo 990
    else
        return 1
    fi
}
