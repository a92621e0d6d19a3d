#!/bin/bash
set -eu
rm -- "$0"
git init -q -b main .
git config user.name tester && git config user.email tester@example.org
cat > greet.py <<'END'
def greet(name):
    return "Hello, " + name
END
cat > test_greet.py <<'END'
import unittest

from greet import greet


class Greet(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(greet("Ada"), "Hello, Ada")


if __name__ == "__main__":
    unittest.main()
END
printf '__pycache__/\n' > .gitignore
git add . && git commit -qm "Greet by name"
git switch -qc polite
cat > greet.py <<'END'
def greet(name, title=""):
    """A greeting with the title in front of the name."""
    return "Hello, " + f"{title} {name}".strip()
END
sed -i 's/    def test_plain/    def test_title(self):\n        self.assertEqual(greet("Ada", title="Dr."), "Hello, Dr. Ada")\n\n    def test_plain/' test_greet.py
git commit -qam "Greet with a title"
git switch -q main
cat > greet.py <<'END'
def greet(name):
    if not name.strip():
        raise ValueError("a name is needed")
    return "Hello, " + name.strip() + "!"
END
sed -i 's/"Hello, Ada"/"Hello, Ada!"/; s/^if __name__/    def test_empty(self):\n        with self.assertRaises(ValueError):\n            greet(" ")\n\n\nif __name__/' test_greet.py
git commit -qam "Greet louder, and nobody not at all"
echo notes > notes.txt
git merge -q polite >/dev/null 2>&1 || true
