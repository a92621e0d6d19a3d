#!/bin/bash
set -eu
rm -- "$0"
git init -q -b main .
git config user.name tester && git config user.email tester@example.org
mkdir tests lib
cat > lib/convert.sh <<'END'
# Conversions, one function each.

to_celsius() {
  awk -v x="$1" 'BEGIN { printf "%.1f\n", (x - 32) / 1.8 }'
}
END
cat > units.sh <<'END'
#!/bin/bash
source "$(dirname "$0")/lib/convert.sh"

case "$1" in
  celsius) to_celsius "$2" ;;
  *) echo "unknown: $1" ;;
esac
END
cat > tests/run.sh <<'END'
set -e
cd "$(dirname "$0")/.."
for file in tests/case-*; do bash "$file" || { echo "$file fails"; exit 1; }; done
echo "all pass"
END
echo '[ "$(bash units.sh celsius 212)" = "100.0" ]' > tests/case-celsius
git add . && git commit -qm "Convert to Celsius"

git switch -qc feature
cat >> lib/convert.sh <<'END'

to_miles() {
  awk -v x="$1" 'BEGIN { printf "%.1f\n", x / 1.609344 }'
}
END
sed -i 's/^  celsius) .*/&\n  miles) to_miles "$2" ;;/' units.sh
echo '[ "$(bash units.sh miles 10)" = "6.2" ]' > tests/case-miles
git add . && git commit -qm "Convert to miles"
cat >> lib/convert.sh <<'END'

to_pounds() {
  awk -v x="$1" 'BEGIN { printf "%.1f\n", x / 0.45359237 }'
}
END
sed -i 's/^  miles) .*/&\n  pounds) to_pounds "$2" ;;/' units.sh
echo '[ "$(bash units.sh pounds 1)" = "2.2" ]' > tests/case-pounds
git add . && git commit -qm "Convert to pounds"
sed -i 's/^case/[ $# = 2 ] || { echo "usage: units.sh UNIT NUMBER"; exit 2; }\n\ncase/' units.sh
echo 'bash units.sh miles >/dev/null; [ $? = 2 ]' > tests/case-usage
git add . && git commit -qm "Say how it is used"

git switch -q main
cat > lib/convert.sh <<'END'
# Conversions, one function each. The result goes through `show`.

show() {
  awk -v x="$1" -v digits="${DIGITS:-1}" 'BEGIN { printf "%.*f\n", digits, x }'
}

celsius() {
  show "$(awk -v x="$1" 'BEGIN { printf "%.10f", (x - 32) / 1.8 }')"
}
END
sed -i 's/to_celsius/celsius/; s/echo "unknown: $1"/echo "unknown: $1" >\&2; exit 1/' units.sh
cat > tests/case-style <<'END'
# Every function but `show` goes through it, and none begins with `to_`.
! grep -n '^to_' lib/convert.sh && [ "$(grep -c '^[a-z]*() {' lib/convert.sh)" = "$(($(grep -c '^  show "' lib/convert.sh) + 1))" ]
END
echo '[ "$(DIGITS=3 bash units.sh celsius 100)" = "37.778" ]' > tests/case-digits
git add . && git commit -qm "Show any number of digits"
git switch -q feature
