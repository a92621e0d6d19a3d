import sys

from crm import report, search, store


def main(arguments):
    path, *words = arguments
    customers = store.load(path)
    for word in words:
        if word.startswith("mail="):
            found = store.by_mail(customers, word.removeprefix("mail="))
            customers = [found] if found else []
        else:
            customers = [it for it in customers if search.matches(it, word)]
    print(report.table(customers))


if __name__ == "__main__":
    main(sys.argv[1:])
