#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > report.sh <<'END'
#!/bin/bash
# Sums up a web server's log, read from the standard input.
set -eu
export LC_ALL=C
awk '
{
  line = $0
  if (line !~ /^[^ ]+ [^ ]+ [^ ]+ \[[^]]*\] "[A-Z]+ .* HTTP\/[0-9.]+" [0-9]+ ([0-9]+|-)$/) { skipped++; next }
  requests++
  bytes += $NF == "-" ? 0 : $NF
  status[$(NF - 1)]++
  sub(/^[^"]*"[A-Z]+ /, "", line)
  sub(/ HTTP\/[0-9.]+" [0-9]+ [^ ]+$/, "", line)
  sub(/\?.*/, "", line)
  paths[line]++
}
END {
  printf "requests %d\nskipped %d\nbytes %.0f\n", requests, skipped, bytes
  for (it in status) print "status", it, status[it] | "sort -k2,2n"
  close("sort -k2,2n")
  for (it in paths) printf "%d\t%s\n", paths[it], it | "sort -k1,1nr -k2 | head -n 3 | awk -F \"\\t\" \"{print \\\"top\\\", \\$2, \\$1}\""
}'
END
