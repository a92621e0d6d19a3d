#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
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
