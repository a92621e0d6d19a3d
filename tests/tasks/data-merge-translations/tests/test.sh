#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cp -r strings strings.mine
mkdir mine && cd mine && ln -s "$here/strings" strings
python3 - <<'END'
import json
english = json.load(open("strings/en.json"))
missing = []
for language in ["de", "es", "fr", "it"]:
    layers = [json.load(open(f"strings/{part}.{language}.json")) for part in ["extra", "core", "legacy"]]
    merged = {}
    for key in english:
        found = next((layer[key] for layer in layers if layer.get(key)), None)
        if found is None:
            missing.append(f"{language} {key}")
        merged[key] = english[key] if found is None else found
    with open(f"merged.{language}.json", "w") as file:
        json.dump(merged, file, indent=2, ensure_ascii=False)
        file.write("\n")
open("missing.txt", "w").write("".join(f"{it}\n" for it in missing))
END
cd ..
diff -r strings "$here/strings"
for file in merged.de.json merged.es.json merged.fr.json merged.it.json missing.txt; do cmp "$file" "mine/$file"; done
