"""Customers and orders."""


class Customer:
    def __init__(self, name, mail):
        self.name = name
        self.mail = mail

    def to_dict(self):
        return {"name": self.name, "mail": self.mail}

    @classmethod
    def from_dict(cls, data):
        return cls(data["name"], mail=data["mail"])


class Order:
    def __init__(self, customer, items):
        self.customer = customer
        self.items = items

    def receipt_to(self):
        return self.customer.mail
