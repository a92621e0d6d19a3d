import unittest

from invoice import Invoice, Line


class Totals(unittest.TestCase):
    def test_a_plain_line(self):
        self.assertEqual(Invoice([Line("pen", "1.50", 2, 20)]).total(), "3.60")

    def test_half_a_cent_of_tax_is_rounded_up(self):
        self.assertEqual(Invoice([Line("nail", "0.05", 1, 10)]).total(), "0.06")
        self.assertEqual(Invoice([Line("book", "2.50", 1, 7)]).total(), "2.68")
        self.assertEqual(Invoice([Line("cup", "10.25", 1, 10)]).total(), "11.28")

    def test_many_lines_do_not_drift(self):
        lines = [Line("screw", "0.10", 1, 0) for _ in range(1000)]
        self.assertEqual(Invoice(lines).total(), "100.00")


if __name__ == "__main__":
    unittest.main()
