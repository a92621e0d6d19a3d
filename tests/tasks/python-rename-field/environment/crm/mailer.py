"""Sends mail. `mail` here is the message, not an address."""


def send(mail, outbox):
    outbox.append(mail)


def receipt(order):
    mail = {"to": order.receipt_to(), "subject": "Your receipt", "body": ", ".join(order.items)}
    return mail
