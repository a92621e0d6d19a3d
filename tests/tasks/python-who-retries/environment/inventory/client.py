import time

from inventory import policy, settings


class Client:
    def __init__(self, transport, sleep=time.sleep):
        self.transport = transport
        self.sleep = sleep

    def get(self, path):
        attempt = 1
        while True:
            answer = self.transport(path, timeout=settings.get("timeout"))
            if not policy.again(answer, attempt):
                return answer
            self.sleep(policy.wait(attempt))
            attempt += 1
