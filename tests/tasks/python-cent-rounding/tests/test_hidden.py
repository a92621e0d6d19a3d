import unittest

from invoice import Invoice, Line


class Hidden(unittest.TestCase):
    def test_half_up(self):
        for price, tax, total in [("0.05", 10, "0.06"), ("2.50", 7, "2.68"), ("10.25", 10, "11.28"),
                                  ("0.35", 10, "0.39"), ("1.05", 50, "1.58")]:
            self.assertEqual(Invoice([Line("x", price, 1, tax)]).total(), total)

    def test_no_drift(self):
        lines = [Line("x", "0.10", 3, 0) for _ in range(5000)]
        self.assertEqual(Invoice(lines).total(), "1500.00")
        self.assertEqual(Invoice([]).total(), "0.00")
