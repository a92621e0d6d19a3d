#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > articles.py <<'END'
class Article:
    def __init__(self, title, tags=()):
        self.title = title
        self.tags = list(tags)

    def tag(self, name):
        if name not in self.tags:
            self.tags.append(name)


def index(articles, into=None):
    """The titles of the articles by tag."""
    into = {} if into is None else into
    for article in articles:
        for name in article.tags:
            into.setdefault(name, []).append(article.title)
    return into
END
