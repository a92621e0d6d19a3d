#!/usr/bin/env python3
"""A client of slug in one file, with Python's standard library alone.

    slug_client.py "What does src/main.rs do?"            starts slug and asks it
    slug_client.py --socket ~/.slug/serve/work.sock "…"   asks a session of `slug serve`

It prints the answer as it streams, asks you about calls and questions, and stops the turn at ctrl+c.
Copy what you need: SlugClient is the part that speaks slug's lines, the rest is one use of it.
docs/scripts.md explains the lines.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading

ARGUMENTS = ["--input-format", "stream-json", "--output-format", "stream-json", "-p"]


class SlugClient:
    """Sends lines to slug and reads lines from it."""

    def __init__(self, reader, writer, process=None, connection=None):
        self.reader, self.writer = reader, writer
        self.process, self.connection = process, connection
        self.lock = threading.Lock()

    @classmethod
    def start(cls, command=("slug",)):
        """Starts slug with pipes. Flags follow the name in `command`."""
        process = subprocess.Popen(
            [*command, *ARGUMENTS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # ctrl+c is for this program, which then interrupts the turn.
            start_new_session=True,
        )
        return cls(process.stdout, process.stdin, process=process)

    @classmethod
    def connect(cls, path):
        """Connects to the socket of `slug serve`, and asks to be the client that writes."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(os.path.expanduser(path))
        client = cls(connection.makefile("rb"), connection.makefile("wb"), connection=connection)
        client.send({"type": "write"})
        for line in client.lines():
            if line["type"] == "access" and line["writer"] != "nobody":
                if line["writer"] == "other":
                    raise RuntimeError("Another client writes in this session.")
                return client
            if line["type"] == "error":
                raise RuntimeError(line["message"])
        raise RuntimeError("The session has ended.")

    def send(self, line):
        with self.lock:
            self.writer.write(json.dumps(line).encode() + b"\n")
            self.writer.flush()

    def say(self, text, steer=False):
        """Sends a message. While a turn runs it waits, or reaches that turn at its next step."""
        delivery = "steer" if steer else "queue"
        message = {"role": "user", "content": text}
        self.send({"type": "user", "message": message, "delivery": delivery})

    def approve(self, question, allow, message=None):
        """Answers an `approval_asked`. With a no, `message` says what to do instead."""
        answer = {"type": "approval", "id": question["id"], "allow": allow}
        self.send({**answer, "message": message} if message else answer)

    def answer(self, question, answers):
        """Answers a `questions_asked`: for each question a dict with `chosen` (indexes) or `text`."""
        self.send({"type": "answers", "id": question["id"], "answers": answers})

    def interrupt(self):
        self.send({"type": "interrupt"})

    def lines(self):
        """The lines of slug, as dicts, until it ends."""
        for line in iter(self.reader.readline, b""):
            yield json.loads(line)

    def close(self):
        """Leaves a socket, or ends the slug that was started. Returns its exit status."""
        if self.process:
            self.writer.close()
            for _ in self.lines():
                pass
            return self.process.wait()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()
        return 0


def ask_about_call(client, question):
    print(f"\n[{question['tool']}] {json.dumps(question['input'])}", flush=True)
    for text in [question["reason"], *question["warnings"], *question["dangers"]]:
        if text:
            print(f"  {text}", flush=True)
    answer = input("y for yes, or what to do instead: ").strip()
    client.approve(question, answer == "y", None if answer in ("y", "n", "") else answer)


def ask_questions(client, asked):
    answers = []
    for question in asked["questions"]:
        print(f"\n{question['question']}", flush=True)
        for number, option in enumerate(question["options"]):
            print(f"  {number}: {option['label']}", flush=True)
        answer = input("a number, or your own words: ").strip()
        is_option = answer.isdigit() and int(answer) < len(question["options"])
        answers.append({"chosen": [int(answer)]} if is_option else {"text": answer})
    client.answer(asked, answers)


def show_turn(client):
    """Shows what slug says until the turn is over. Returns the result."""
    for line in client.lines():
        kind = line["type"]
        if kind == "text":
            print(line["text"], end="", flush=True)
        elif kind == "dropped":
            print("\n(again)", flush=True)
        elif kind == "approval_asked":
            ask_about_call(client, line)
        elif kind == "questions_asked":
            ask_questions(client, line)
        elif kind == "error":
            print(f"slug: {line['message']}", file=sys.stderr)
        elif kind == "result":
            print(flush=True)
            return line
    return None


def main():
    parser = argparse.ArgumentParser(description="Ask slug, and answer its questions.")
    parser.add_argument("--socket", metavar="PATH", help="ask the session of `slug serve` there")
    parser.add_argument("--slug", default="slug", metavar="COMMAND", help="slug and its flags")
    parser.add_argument("message")
    arguments = parser.parse_args()
    if arguments.socket:
        client = SlugClient.connect(arguments.socket)
    else:
        client = SlugClient.start(arguments.slug.split())
    signal.signal(signal.SIGINT, lambda *_: client.interrupt())
    client.say(arguments.message)
    result = show_turn(client)
    client.close()
    if result is None:
        sys.exit("slug has ended.")
    if result["error"]:
        print(result["error"]["message"], file=sys.stderr)
    sys.exit(result["exit"])


if __name__ == "__main__":
    main()
