#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > greet.py <<'END'
def greet(name, title=""):
    """A greeting with the title in front of the name."""
    if not name.strip():
        raise ValueError("a name is needed")
    return "Hello, " + f"{title} {name.strip()}".strip() + "!"
END
cat > test_greet.py <<'END'
import unittest

from greet import greet


class Greet(unittest.TestCase):
    def test_title(self):
        self.assertEqual(greet("Ada", title="Dr."), "Hello, Dr. Ada!")

    def test_plain(self):
        self.assertEqual(greet("Ada"), "Hello, Ada!")

    def test_empty(self):
        with self.assertRaises(ValueError):
            greet(" ")


if __name__ == "__main__":
    unittest.main()
END
git add greet.py test_greet.py
git commit -qm "Merge the titles"
