import unittest

from crm import mailer, report, store
from crm.model import Customer, Order


class Crm(unittest.TestCase):
    def test_round_trip(self):
        customers = store.load("data/customers.json")
        self.assertEqual(customers[0].mail, "ada@example.org")

    def test_receipt(self):
        mail = mailer.receipt(Order(Customer("Ada", "a@b"), ["tea"]))
        self.assertEqual(mail["to"], "a@b")


if __name__ == "__main__":
    unittest.main()
