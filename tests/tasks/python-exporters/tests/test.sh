#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
python3 - <<'END'
import exporters
people = [{"name": " zoe ", "city": "Rome, old", "country": "Italy", "born": 1990},
          {"name": 'Al "x" | <b>', "born": None}, {"name": "Mo", "city": "", "country": "A & B"}]
assert exporters.to_csv(people) == 'name,city,country,born\nzoe,"Rome, old",Italy,1990\n"Al ""x"" | <b>",unknown,unknown,\nMo,unknown,A & B,\n', exporters.to_csv(people)
assert "| Al \"x\" \\| <b> | unknown | unknown |  |" in exporters.to_markdown(people)
assert exporters.to_markdown([]) == "| name | city | country | born |\n| --- | --- | --- | --- |\n"
assert exporters.to_html(people).startswith("<table>\n<tr><th>name</th><th>city</th><th>country</th><th>born</th></tr>\n")
assert "<td>A &amp; B</td>" in exporters.to_html(people) and "&lt;b>" in exporters.to_html(people)
source = open("exporters.py").read()
assert source.count('"country"') <= 2 and source.count(".strip()") == 1, "a column stands at one place"
END
