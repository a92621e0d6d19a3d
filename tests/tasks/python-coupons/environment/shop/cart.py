from shop.money import money

SHIPPING = money("4.90")
FREE_FROM = money("50.00")


class Cart:
    def __init__(self, prices):
        self.prices = prices
        self.items = []

    def add(self, name, count=1):
        if name not in self.prices:
            raise KeyError(name)
        self.items.append((name, count))

    def goods(self):
        return sum((self.prices[name] * count for name, count in self.items), money(0))

    def shipping(self):
        return money(0) if not self.items or self.goods() >= FREE_FROM else SHIPPING

    def total(self):
        return self.goods() + self.shipping()

    def notes(self):
        return []
