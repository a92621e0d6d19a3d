from inventory import settings

PASSING = {408, 429, 500, 502, 503, 504}


def passing(answer):
    return answer.status in PASSING


def again(answer, attempt):
    """A quarter of the attempts, at least one, is kept for the caller."""
    kept = max(1, settings.get("attempts") // 4)
    return passing(answer) and attempt < settings.get("attempts") - kept


def wait(attempt):
    return min(settings.get("first_wait") * 2 ** (attempt - 1), settings.get("longest_wait"))
