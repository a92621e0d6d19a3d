#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
export GIT_EDITOR=true
convert() {
  cat > lib/convert.sh <<'END'
# Conversions, one function each. The result goes through `show`.

show() {
  awk -v x="$1" -v digits="${DIGITS:-1}" 'BEGIN { printf "%.*f\n", digits, x }'
}

celsius() {
  show "$(awk -v x="$1" 'BEGIN { printf "%.10f", (x - 32) / 1.8 }')"
}
END
  [ "$1" -lt 1 ] || cat >> lib/convert.sh <<'END'

miles() {
  show "$(awk -v x="$1" 'BEGIN { printf "%.10f", x / 1.609344 }')"
}
END
  [ "$1" -lt 2 ] || cat >> lib/convert.sh <<'END'

pounds() {
  show "$(awk -v x="$1" 'BEGIN { printf "%.10f", x / 0.45359237 }')"
}
END
  {
    printf '#!/bin/bash\nsource "$(dirname "$0")/lib/convert.sh"\n\n'
    [ "$1" -lt 3 ] || printf '[ $# = 2 ] || { echo "usage: units.sh UNIT NUMBER"; exit 2; }\n\n'
    printf 'case "$1" in\n  celsius) celsius "$2" ;;\n'
    [ "$1" -lt 1 ] || printf '  miles) miles "$2" ;;\n'
    [ "$1" -lt 2 ] || printf '  pounds) pounds "$2" ;;\n'
    printf '  *) echo "unknown: $1" >&2; exit 1 ;;\nesac\n'
  } > units.sh
  git add -A
}
git rebase -q main >/dev/null 2>&1 || true
for step in 1 2 3; do
  convert "$step"
  git rebase --continue >/dev/null 2>&1 || true
done
[ ! -d .git/rebase-merge ]
