import json

from crm.model import Customer


def load(path):
    with open(path) as file:
        return [Customer.from_dict(row) for row in json.load(file)]


def save(path, customers):
    with open(path, "w") as file:
        json.dump([customer.to_dict() for customer in customers], file, indent=2)


def by_mail(customers, mail):
    return next((it for it in customers if it.mail == mail), None)
