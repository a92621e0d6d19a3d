#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
python3 - <<'END'
from articles import Article, index
from feeds import Feed
a, b = Article("a"), Article("b")
a.tag("x")
assert b.tags == []
given = ["k"]
c = Article("c", given)
c.tag("l")
assert given == ["k"], "the caller's list was changed"
assert index([c]) == {"k": ["c"], "l": ["c"]} == index([c])
assert index([c], {"k": ["z"]})["k"] == ["z", "c"]
one, two = Feed("one"), Feed("two")
one.publish("p")
assert two.publish("q").tags == ["two"]
assert Feed.defaults == {"tags": []}
END
