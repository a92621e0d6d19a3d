#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
python3 -m unittest -q
python3 - <<'END'
import json, os, tempfile
from crm import mailer, report, search, store
from crm.model import Customer, Order
ada = Customer("Ada", email="a@b")
assert ada.email == "a@b" and not hasattr(ada, "mail")
assert ada.to_dict() == {"name": "Ada", "email": "a@b"}
assert Customer.from_dict({"name": "Old", "mail": "o@b"}).email == "o@b"
assert Customer.from_dict({"name": "New", "email": "n@b"}).email == "n@b"
assert store.by_email([ada], "a@b") is ada and not hasattr(store, "by_mail")
assert search.FIELDS == ("name", "email") and search.column([ada], "email") == ["a@b"]
assert search.matches(ada, "A@B")
outbox = []
mailer.send(mailer.receipt(Order(ada, ["tea"])), outbox)
assert outbox[0]["to"] == "a@b"
assert mailer.send.__code__.co_varnames[0] == "mail", "a message is still called mail"
rows = json.load(open("data/customers.json"))
assert all("email" in row and "mail" not in row for row in rows)
path = os.path.join(tempfile.mkdtemp(), "x.json")
store.save(path, [ada])
assert '"email"' in open(path).read()
assert "`email`" in open("README.md").read() and "email=ada" in open("README.md").read()
END
[ "$(python3 -m crm.cli data/customers.json email=ada@example.org)" = "Ada         ada@example.org" ]
