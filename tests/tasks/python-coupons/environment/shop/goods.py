import json

from shop.money import money


def load(path="catalogue/goods.json"):
    with open(path) as file:
        return {name: money(price) for name, price in json.load(file).items()}
