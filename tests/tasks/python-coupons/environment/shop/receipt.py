def line(label, amount):
    return f"{label:<16}{amount:>7}"


def receipt(cart):
    lines = [line(f"{count} x {name}", cart.prices[name] * count) for name, count in cart.items]
    lines.append(line("shipping", cart.shipping()))
    lines.append(line("total", cart.total()))
    return "\n".join(lines + cart.notes())
