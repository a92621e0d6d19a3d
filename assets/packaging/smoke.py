#!/usr/bin/env python3
"""Installs a deb in an empty root and uses slug there: smoke.py DEB.

In the root only libraries and tools are the machine's, read-only; slug is the package's. Asked are the
version, the help, doctor, one turn of a server with a scripted answer, and the demo on a terminal.
"""

import fcntl
import http.server
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

ANSWER = "The package answers."
# No step waits longer, in seconds.
PATIENCE = 120
LIBRARIES = [it for it in ("/usr/lib", "/usr/lib64") if os.path.isdir(it)]


class ScriptedServer(http.server.BaseHTTPRequestHandler):
    """Answers chat completions with one text."""

    def log_message(self, *_):
        pass

    def send(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.endswith("/models"):
            models = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
            self.send("application/json", json.dumps(models).encode())
        else:
            self.send_error(404)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        deltas = [({"role": "assistant", "content": ANSWER}, None), ({}, "stop")]
        chunks = [
            {"id": "1", "model": "scripted", "choices": [{"index": 0, "delta": d, "finish_reason": f}]}
            for d, f in deltas
        ]
        lines = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
        self.send("text/event-stream", "".join(f"data: {it}\n\n" for it in lines).encode())


def install(deb, root):
    """dpkg needs a database; libraries are the machine's, so what is depended on is not looked up."""
    database = root / "var/lib/dpkg"
    for folder in ("info", "updates", "triggers"):
        (database / folder).mkdir(parents=True)
    (database / "status").touch()
    (root / "bin").symlink_to("host/bin")
    for libraries in LIBRARIES:
        (root / os.path.basename(libraries)).symlink_to(libraries[1:])
    subprocess.run(
        ["dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--install", deb],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def inside(root, *command):
    """The command in the root: the package's /usr/bin, the machine's tools at /host/bin."""
    words = ["bwrap", "--bind", str(root), "/", "--ro-bind", "/usr/bin", "/host/bin"]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for libraries in LIBRARIES:
        words += ["--ro-bind", libraries, libraries]
    words += ["--dir", "/home/user/project", "--chdir", "/home/user/project", "--clearenv"]
    for variable in ("HOME=/home/user", "PATH=/usr/bin:/host/bin", "LANG=C.UTF-8", "TERM=xterm-256color"):
        words += ["--setenv", *variable.split("=")]
    return [*words, "--", *command]


def run(root, *arguments, codes=(0,)):
    ran = subprocess.run(
        inside(root, "slug", *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if ran.returncode not in codes:
        sys.exit(f"slug {' '.join(arguments)} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def expect(what, text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{what}: no {part!r} in:\n{text}")
    print(f"{what}: as expected.")


def demo(root):
    """Starts the tour on a terminal and waits for its first screens."""
    child, terminal = pty.fork()
    if child == 0:
        words = inside(root, "slug", "--demo")
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    seen = ""
    try:
        for part, keys in (("enter starts the demo", b"\r"), ("parcel", b"\x03\x03")):
            end = time.monotonic() + PATIENCE
            while part not in seen:
                if time.monotonic() > end:
                    sys.exit(f"demo: no {part!r} in:\n{seen}")
                if select.select([terminal], [], [], 1)[0]:
                    text = os.read(terminal, 1 << 16).decode(errors="replace")
                    seen += re.sub(r"\x1b\[[0-9;?<>=]*[a-zA-Z]", " ", text)
            os.write(terminal, keys)
    finally:
        os.kill(child, 15)
        os.waitpid(child, 0)
    expect("demo", seen, "parcel")


def main():
    deb = os.path.realpath(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ScriptedServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = ["-e", f"http://127.0.0.1:{server.server_port}/v1", "-m", "scripted"]
    with tempfile.TemporaryDirectory(prefix="slug-root.") as folder:
        root = Path(folder)
        install(deb, root)
        version = os.path.basename(deb).split("_")[1].split("-")[0]
        expect("version", run(root, "--version"), f"slug {version}")
        expect("help", run(root, "--help"), "--demo", "Usage")
        found = run(root, *address, "doctor", codes=(0, 1))
        expect("doctor", found, "of the deb package `slug-code`", "scripted")
        expect("turn", run(root, *address, "-p", "Do you answer?"), ANSWER)
        demo(root)
    server.shutdown()


main()
