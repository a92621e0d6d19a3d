#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > exporters.py <<'END'
COLUMNS = {
    "name": lambda person: person["name"].strip(),
    "city": lambda person: person.get("city") or "unknown",
    "country": lambda person: person.get("country") or "unknown",
    "born": lambda person: str(person["born"]) if person.get("born") else "",
}


def table(people):
    """The cells of each person, in the order of their names."""
    in_order = sorted(people, key=lambda it: it["name"].lower())
    return [[cell(person) for cell in COLUMNS.values()] for person in in_order]


def to_csv(people):
    def quoted(it):
        return '"' + it.replace('"', '""') + '"' if "," in it or '"' in it else it

    rows = [list(COLUMNS)] + [[quoted(it) for it in row] for row in table(people)]
    return "".join(",".join(row) + "\n" for row in rows)


def to_markdown(people):
    rows = [list(COLUMNS), ["---"] * len(COLUMNS)]
    rows += [[it.replace("|", "\\|") for it in row] for row in table(people)]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def to_html(people):
    rows = ["<tr>" + "".join(f"<th>{it}</th>" for it in COLUMNS) + "</tr>"]
    for row in table(people):
        cells = [it.replace("&", "&amp;").replace("<", "&lt;") for it in row]
        rows.append("<tr>" + "".join(f"<td>{it}</td>" for it in cells) + "</tr>")
    return "<table>\n" + "\n".join(rows) + "\n</table>\n"
END
