def matches(customer, text):
    text = text.lower()
    return text in customer.name.lower() or text in customer.mail.lower()


FIELDS = ("name", "mail")


def column(customers, field):
    if field not in FIELDS:
        raise KeyError(field)
    return [getattr(customer, field) for customer in customers]
