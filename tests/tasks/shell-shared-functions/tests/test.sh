#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
echo page > page.html; mkdir -p site elsewhere bin
here2=$PWD
for script in deploy check remove; do
  [ "$(grep -vcE '^[[:space:]]*(#|$)' $script.sh)" -lt 15 ] || { echo "$script.sh is long"; exit 1; }
  ! grep -nE '^ *(function )?(log|need|retry) *\(' $script.sh
done
[ "$(cat lib.sh | grep -cE '^ *(function )?(log|need|retry) *\(')" = 3 ]
run() { status=0; "$@" >out.txt 2>err.txt || status=$?; }
run env TOKEN=x bash deploy.sh; [ "$status" = 3 ] && [ "$(cat err.txt)" = "deploy.sh: SITE is not set" ]
run bash check.sh; [ "$status" = 3 ]
run env SITE=site TOKEN=x bash remove.sh; [ "$status" != 0 ]
run env SITE=site TOKEN=x bash deploy.sh; [ "$status" = 0 ] && [ "$(cat err.txt)" = "deploy.sh: deployed" ] && [ -e site/page.html ]
run env SITE=site TOKEN=x COPY=false bash deploy.sh; [ "$status" = 1 ]
[ "$(cat err.txt)" = "deploy.sh: try 1 of 3 failed
deploy.sh: try 2 of 3 failed
deploy.sh: try 3 of 3 failed" ]
(cd elsewhere; SITE=../site bash ../check.sh 2>&1 | grep -q "check.sh: checked")
ln -s ../check.sh bin/linked; (cd elsewhere; SITE=$here2/site bash ../bin/linked 2>&1 | grep -q "linked: checked")
run env SITE=nowhere bash check.sh; [ "$status" = 1 ] && [ "$(head -n 1 err.txt)" = "check.sh: try 1 of 2 failed" ]
run env SITE=site TOKEN=x bash remove.sh; [ "$status" = 0 ] && [ ! -s out.txt ] && [ "$(cat err.txt)" = "remove.sh: removed" ]
mkdir "with space"; cp *.sh "with space"; (cd "with space"; SITE=../site bash "./check.sh" >/dev/null 2>&1 || [ $? = 1 ])
