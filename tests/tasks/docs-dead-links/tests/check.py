import os
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])


def plain(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


for file in [*root.glob("docs/*.md"), root / "README.md"]:
    for link in re.findall(r"\]\(([^)]*)\)", plain(file.read_text())):
        if link.startswith("https:"):
            continue
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(file.parent / path))
        assert target.name in os.listdir(target.parent), (file, link)
        headings = re.findall(r"^#+ +(.*?) *$", plain(target.read_text()), flags=re.M) if anchor else []
        names = {re.sub(r"[^\w\- ]", "", it.lower()).replace(" ", "-") for it in headings}
        assert not anchor or anchor in names, (file, link)
