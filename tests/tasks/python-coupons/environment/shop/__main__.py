"""python3 -m shop add NAME COUNT [-- add NAME COUNT]..."""

import sys

from shop import goods
from shop.cart import Cart
from shop.receipt import receipt


def split(arguments):
    command = []
    for word in arguments + ["--"]:
        if word == "--":
            yield command
            command = []
        else:
            command.append(word)


def main(arguments):
    cart = Cart(goods.load())
    for command in split(arguments):
        match command:
            case ["add", name, count]:
                cart.add(name, int(count))
            case other:
                print(f"unknown command: {' '.join(other)}", file=sys.stderr)
                return 2
    print(receipt(cart))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
