#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
make_tree() {
  rm -rf t outside; mkdir -p "t/a b/target/x" t/keep/target t/sub outside
  touch t/main.c t/main.o "t/a b/x y.tmp" t/keep/k.o "t/a b/target/x/z.o" t/sub/s.tmp outside/precious.o
  ln -s ../outside t/link; ln -s ../outside t/target; ln -s ../../outside/precious.o t/sub/l.o
}
make_tree
before=$(find t outside | sort)
[ "$(bash clean.sh --dry-run t --exclude keep)" = "a b/target
a b/x y.tmp
main.o
sub/l.o
sub/s.tmp
target" ]
[ "$(find t outside | sort)" = "$before" ]
[ "$(bash clean.sh -n --exclude keep --exclude sub -- t)" = "a b/target
a b/x y.tmp
main.o
target" ]
bash clean.sh t --exclude keep >/dev/null
[ -e t/keep/k.o ] && [ -d t/keep/target ] && [ -e outside/precious.o ] && [ -e t/main.c ] && [ -L t/link ]
[ ! -e t/main.o ] && [ ! -e "t/a b/target" ] && [ ! -L t/target ] && [ ! -L t/sub/l.o ] && [ ! -e t/sub/s.tmp ]
make_tree; mkdir -- "-x"; touch -- "-x/a.o"; bash clean.sh -- -x >/dev/null; [ ! -e ./-x/a.o ]
bash clean.sh --help | grep -q -- --exclude
for wrong in "" "--what t" "t --exclude" "missing" "t t"; do
  status=0; bash clean.sh $wrong >out.txt 2>err.txt || status=$?
  [ "$status" = 2 ] && [ -s err.txt ] || { echo "wrong: $wrong $status"; exit 1; }
done
[ "$(find t | wc -l)" -gt 10 ]
grep -q -- --dry-run README.md && grep -q -- --exclude README.md
