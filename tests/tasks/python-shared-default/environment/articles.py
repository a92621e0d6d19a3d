class Article:
    def __init__(self, title, tags=[]):
        self.title = title
        self.tags = tags

    def tag(self, name):
        if name not in self.tags:
            self.tags.append(name)


def index(articles, into={}):
    """The titles of the articles by tag."""
    for article in articles:
        for name in article.tags:
            into.setdefault(name, []).append(article.title)
    return into
