#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
make check >/dev/null
is() { [ "$1" = "$2" ] || { printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2"; exit 1; }; }
text='The the THE cat Cat ox ox ox'
is "$(echo "$text" | ./words)" "3 ox
1 Cat
1 THE
1 The
1 cat
1 the"
is "$(echo "$text" | ./words -i)" "3 ox
3 the
2 cat"
is "$(echo "$text" | ./words -i -n 1)" "3 ox"
is "$(echo "$text" | ./words -i -m 3)" "3 the
2 cat"
is "$(echo "$text" | ./words -i -r)" "2 cat
3 ox
3 the"
is "$(echo "$text" | ./words -r -n 1 -i)" "2 cat"
echo one > x.txt; echo one two > y.txt
is "$(echo two | ./words x.txt - y.txt)" "2 one
2 two"
status=0; out=$(./words x.txt missing.txt 2>err.txt) || status=$?
is "$status $out" "1 1 one"
grep -q '^words: missing.txt: ' err.txt
is "$(./words --help >help.txt; echo $?)" 0
for option in -i -n -m -r --help; do grep -q -- "$option" help.txt; done
for wrong in -x "-n 0" "-n x" "-m -1" -n; do
  status=0; ./words $wrong >out.txt 2>err.txt </dev/null || status=$?
  is "$wrong $status" "$wrong 2"
  grep -q '^words: ' err.txt; grep -q -- --help err.txt; [ ! -s out.txt ]
done
cc -std=c11 -D_POSIX_C_SOURCE=200809L -g -fsanitize=address,undefined -o words main.c options.c count.c
python3 - > big.txt <<'END'
import itertools, string
print("x" * 100000)
print(" ".join("".join(it) for it in itertools.islice(itertools.product(string.ascii_lowercase, repeat=4), 5000)))
END
is "$(ASAN_OPTIONS=detect_leaks=0 timeout 60 ./words < big.txt | wc -l)" 5001
