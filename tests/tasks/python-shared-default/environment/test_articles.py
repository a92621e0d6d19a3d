import unittest

from articles import Article, index
from feeds import Feed


class Tags(unittest.TestCase):
    def test_tags_are_an_articles_own(self):
        first, second = Article("one"), Article("two")
        first.tag("new")
        self.assertEqual(second.tags, [])

    def test_an_index_begins_empty(self):
        article = Article("three", ["x"])
        self.assertEqual(index([article]), {"x": ["three"]})
        self.assertEqual(index([article]), {"x": ["three"]})

    def test_feeds_do_not_mix(self):
        Feed("sport").publish("match")
        self.assertEqual(Feed("music").publish("song").tags, ["music"])


if __name__ == "__main__":
    unittest.main()
