def to_csv(people):
    rows = []
    rows.append("name,city,born")
    for person in sorted(people, key=lambda it: it["name"].lower()):
        name = person["name"].strip()
        city = person.get("city") or "unknown"
        born = str(person["born"]) if person.get("born") else ""
        rows.append(",".join('"' + it.replace('"', '""') + '"' if "," in it or '"' in it else it
                             for it in [name, city, born]))
    return "\n".join(rows) + "\n"


def to_markdown(people):
    rows = []
    rows.append("| name | city | born |")
    rows.append("| --- | --- | --- |")
    for person in sorted(people, key=lambda it: it["name"].lower()):
        name = person["name"].strip()
        city = person.get("city") or "unknown"
        born = str(person["born"]) if person.get("born") else ""
        rows.append("| " + " | ".join(it.replace("|", "\\|") for it in [name, city, born]) + " |")
    return "\n".join(rows) + "\n"


def to_html(people):
    rows = []
    rows.append("<tr><th>name</th><th>city</th><th>born</th></tr>")
    for person in sorted(people, key=lambda it: it["name"].lower()):
        name = person["name"].strip()
        city = person.get("city") or "unknown"
        born = str(person["born"]) if person.get("born") else ""
        cells = [it.replace("&", "&amp;").replace("<", "&lt;") for it in [name, city, born]]
        rows.append("<tr>" + "".join(f"<td>{it}</td>" for it in cells) + "</tr>")
    return "<table>\n" + "\n".join(rows) + "\n</table>\n"
