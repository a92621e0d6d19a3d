import os

DEFAULTS = {"timeout": 3.0, "attempts": 5, "first_wait": 0.5, "longest_wait": 2.0}


def get(name):
    """Attempts include the first one, but for the legacy variable, which counts retries."""
    if name == "attempts" and "INVENTORY_RETRIES" in os.environ:
        return int(os.environ["INVENTORY_RETRIES"]) + 1
    return type(DEFAULTS[name])(os.environ.get(f"INVENTORY_{name.upper()}", DEFAULTS[name]))
