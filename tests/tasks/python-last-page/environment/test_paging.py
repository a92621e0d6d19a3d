import unittest

import paging


class Pages(unittest.TestCase):
    def test_full_pages(self):
        self.assertEqual(paging.page_count(list(range(6)), 3), 2)
        self.assertEqual(paging.page(list(range(6)), 2, 3), [3, 4, 5])


if __name__ == "__main__":
    unittest.main()
