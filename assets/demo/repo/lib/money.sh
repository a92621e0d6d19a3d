# format_money CENTS: prints an amount with two decimals.
format_money() {
    printf '%d.%02d\n' "$(($1 / 100))" "$(($1 % 100))"
}
