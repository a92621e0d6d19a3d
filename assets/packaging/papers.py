#!/usr/bin/env python3
"""What a release says of itself, from cargo's own lists: papers.py WHAT [ARGUMENT].

  sbom TARGET      the parts as CycloneDX 1.6, to standard output
  licences TARGET  the licences of all parts with their texts, to standard output
  render FOLDER    the files of packages.in, filled in

Only what is built into the binary counts: no crates for tests. Nothing depends on the time or on the
folder. What no crate says is said to be missing, not guessed.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "slug-code"
TEXT_NAMES = re.compile(r"^(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)


class Parts:
    """The crates that the binary consists of, in order of their names."""

    def __init__(self, target):
        command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target]
        metadata = json.loads(subprocess.check_output(command, cwd=ROOT, stderr=subprocess.DEVNULL))
        self.nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        packages = {package["id"]: package for package in metadata["packages"]}
        self.root = packages[metadata["resolve"]["root"]]
        reached, open_ids = set(), [self.root["id"]]
        while open_ids:
            package = open_ids.pop()
            if package not in reached:
                reached.add(package)
                open_ids.extend(self.uses(package))
        self.packages = sorted(
            (packages[it] for it in reached), key=lambda it: (it["name"], it["version"])
        )

    def uses(self, package):
        """The ids that a crate is built with; those of its tests are not."""
        for use in self.nodes[package]["deps"]:
            if any(kind["kind"] in (None, "build") for kind in use["dep_kinds"]):
                yield use["pkg"]

    def others(self):
        return [it for it in self.packages if it is not self.root]


def expression(package):
    """The SPDX expression; old manifests have a slash for "or"."""
    return (package["license"] or "NOASSERTION").replace(" / ", " OR ").replace("/", " OR ")


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def sbom(target):
    parts = Parts(target)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    sums = {(it["name"], it["version"]): it.get("checksum") for it in lock["package"]}
    by_id = {it["id"]: it for it in parts.packages}

    def component(package, kind):
        made = {
            "type": kind,
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "licenses": [{"expression": expression(package)}],
            "purl": purl(package),
        }
        if checksum := sums.get((package["name"], package["version"])):
            made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return made

    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(parts.root, "application")},
        "components": [component(it, "library") for it in parts.others()],
        "dependencies": [
            {
                "ref": purl(it),
                "dependsOn": sorted({purl(by_id[use]) for use in parts.uses(it["id"])}),
            }
            for it in parts.packages
        ],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


def texts(package):
    """The licence files of a crate, and of the C sources in it."""
    top = Path(package["manifest_path"]).parent
    found = set()
    for folder, folders, files in os.walk(top):
        depth = len(Path(folder).relative_to(top).parts)
        folders[:] = sorted(folders) if depth < 2 else []
        found |= {Path(folder) / file for file in files if TEXT_NAMES.match(file)}
    for file in sorted(found):
        text = file.read_text(errors="replace").replace("\r\n", "\n").strip("\n")
        if text.strip():
            yield text


def licences(target):
    parts = Parts(target)
    users = collections.defaultdict(list)
    print(f"slug {parts.root['version']} is under the {expression(parts.root)} licence.")
    print("These crates are built into it:\n")
    silent = []
    for package in parts.others():
        named = f"{package['name']} {package['version']}"
        print(f"{named}: {expression(package)}")
        own = list(dict.fromkeys(texts(package)))
        if not own:
            silent.append(f"{named} ({', '.join(package['authors']) or 'no author named'})")
        for text in own:
            users[text].append(named)
    if silent:
        print("\nThese have no text in their archive, and the terms that the list above names:")
        print("\n".join(silent))
    for text, names in users.items():
        print(f"\n{'-' * 98}\n{', '.join(names)}\n\n{text}")


def all_expressions(packages):
    """All terms of the parts as one expression, as an rpm wants it."""
    found = sorted({expression(it) for it in packages})
    return " AND ".join(f"({it})" if " OR " in it or " AND " in it else it for it in found)


def render(folder):
    host = subprocess.check_output(["rustc", "-vV"], text=True)
    target = re.search(r"^host: (.*)$", host, re.MULTILINE)[1]
    parts = Parts(target)
    version = parts.root["version"]
    words = {
        "name": NAME,
        "version": version,
        "summary": parts.root["description"],
        "licence": expression(parts.root),
        "licences": all_expressions(parts.packages),
        "maintainer": os.environ.get("SLUG_RELEASE_MAINTAINER", "the slug authors <slug@localhost>"),
        "url": os.environ.get("SLUG_RELEASE_URL", ""),
        "sum": os.environ.get("SLUG_RELEASE_SUM", ""),
        "folder": f"{NAME}-{version}-{target}",
        "archive": f"{NAME}-{version}-{target}.tar.gz",
    }
    later = {"depends", "size", "architecture", "date"}

    def word(match):
        return match[0] if match[1] in later else words[match[1]]

    template = (Path(__file__).parent / "packages.in").read_text()
    for piece in re.split(r"^=== ", template, flags=re.MULTILINE)[1:]:
        name, text = re.sub(r"@(\w+)@", word, piece).split("\n", 1)
        file = Path(folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def main():
    match sys.argv[1:]:
        case ["sbom", target]:
            sbom(target)
        case ["licences", target]:
            licences(target)
        case ["render", folder]:
            render(folder)
        case _:
            sys.exit(__doc__)


main()
