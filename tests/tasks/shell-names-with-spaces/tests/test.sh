#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
mkdir -p src/a "src/b c" src/-d target
printf 1 > src/a/notes.txt; printf 2 > "src/b c/notes.txt"; printf 3 > src/-d/notes.txt
printf 4 > "src/two words.txt"; printf 5 > $'src/line\nend.txt'; printf 6 > 'src/[x]*.txt'; printf 7 > src/-n.txt; printf 8 > src/other.md
touch decoy.txt
out=$(bash backup.sh src target)
[ "$(tail -n 1 <<< "$out")" = "7 files" ]
[ "$(cat target/notes.txt target/notes-2.txt target/notes-3.txt)" = 312 ]
[ "$(cat "target/two words.txt" $'target/line\nend.txt' 'target/[x]*.txt' target/-n.txt)" = 4567 ]
[ "$(ls -A target | wc -l)" = 8 ] # one name holds a line end
for wrong in "" "src" "missing target"; do
  status=0; bash backup.sh $wrong >out.txt 2>err.txt || status=$?
  [ "$status" = 2 ] && [ -s err.txt ] && [ ! -s out.txt ]
done
mkdir empty none; [ "$(bash backup.sh empty none)" = "0 files" ]
