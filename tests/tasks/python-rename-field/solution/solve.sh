#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
sed -i 's/self\.mail = mail/self.email = email/; s/name, mail)/name, email)/; s/"mail": self\.mail/"email": self.email/; s/customer\.mail/customer.email/' crm/model.py
sed -i 's/return cls(data\["name"\], mail=data\["mail"\])/return cls(data["name"], data["email"] if "email" in data else data["mail"])/' crm/model.py
sed -i 's/by_mail(customers, mail)/by_email(customers, email)/; s/it\.mail == mail/it.email == email/' crm/store.py
sed -i 's/customer\.mail/customer.email/; s/"name", "mail"/"name", "email"/' crm/search.py
sed -i 's/"mail"/"email"/; s/{mail}/{email}/; s/for name, mail/for name, email/' crm/report.py
sed -i 's/"mail=/"email=/g; s/by_mail/by_email/' crm/cli.py
sed -i 's/"mail"/"email"/' data/customers.json
sed -i 's/`mail`\./`email`./; s/mail=ada/email=ada/; s/by its$/by its/' README.md
sed -i 's/customers\[0\]\.mail/customers[0].email/' test_crm.py
