import unittest

from shop import goods
from shop.cart import Cart
from shop.money import money


class Carts(unittest.TestCase):
    def test_total(self):
        cart = Cart(goods.load())
        cart.add("tea", 2)
        self.assertEqual(cart.total(), money("14.90"))


if __name__ == "__main__":
    unittest.main()
