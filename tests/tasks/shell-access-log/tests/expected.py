import collections
import re
import sys

LINE = re.compile(r'^\S+ \S+ \S+ \[[^]]*\] "[A-Z]+ (.*) HTTP/[0-9.]+" (\d+) (\d+|-)$')
skipped = total = requests = 0
status, paths = collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    found = LINE.match(line)
    if not found:
        skipped += 1
        continue
    requests += 1
    total += 0 if found[3] == "-" else int(found[3])
    status[found[2]] += 1
    paths[found[1].split("?")[0]] += 1
print("requests", requests)
print("skipped", skipped)
print("bytes", total)
for key in sorted(status, key=int):
    print("status", key, status[key])
for path, count in sorted(paths.items(), key=lambda it: (-it[1], it[0].encode()))[:3]:
    print("top", path, count)
