"""Invoices: lines with a net price, a tax rate and a quantity."""


class Line:
    def __init__(self, name, price, quantity, tax_percent):
        """`price` is the net price of one piece, as text such as "19.99"."""
        self.name = name
        self.price = float(price)
        self.quantity = quantity
        self.tax_percent = tax_percent

    def net(self):
        return self.price * self.quantity

    def tax(self):
        return self.net() * self.tax_percent / 100


class Invoice:
    def __init__(self, lines):
        self.lines = lines

    def total(self):
        """The sum to pay, with two decimals. The tax of each line is rounded half up."""
        total = 0
        for line in self.lines:
            total += line.net() + round(line.tax(), 2)
        return f"{round(total, 2):.2f}"
