set -eu
[ "$(echo "a b b" | ./words)" = "2 b
1 a" ]
