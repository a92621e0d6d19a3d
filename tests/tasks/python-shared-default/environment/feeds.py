from articles import Article


class Feed:
    """Articles with defaults for all of them."""

    defaults = {"tags": []}

    def __init__(self, name):
        self.name = name
        self.articles = []

    def publish(self, title):
        article = Article(title, self.defaults["tags"])
        article.tag(self.name)
        self.articles.append(article)
        return article
