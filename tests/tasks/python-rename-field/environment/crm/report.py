from crm.search import column


def table(customers):
    rows = zip(column(customers, "name"), column(customers, "mail"))
    return "\n".join(f"{name:<12}{mail}" for name, mail in rows)
