"""Runs a command in the terminal in which this is started, and keeps a record of all that passes.

    inside.py FOLDER COMMAND...

In FOLDER: `traffic`, a JSON line for each piece in either direction and for each size; `replies.json`, what
the terminal answers to queries before the command; `end.json`, the command's status, the modes of the
terminal before and after it, and those of the line. It then waits for a file `close` in FOLDER.
"""

import base64
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tty

FOLDER, COMMAND = sys.argv[1], sys.argv[2:]
# Every mode that slug turns on, as DEC's private modes.
MODES = {"alternate screen": 1049, "cursor": 25, "paste brackets": 2004, "focus": 1004, "mouse": 1000,
         "drags": 1002, "SGR mouse": 1006, "synchronized": 2026}
VARIABLES = ["TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "VTE_VERSION", "KONSOLE_VERSION",
             "XTERM_VERSION", "KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "ALACRITTY_LOG", "COLORFGBG", "TMUX", "STY"]


def save(name, value):
    path = os.path.join(FOLDER, name)
    with open(path + ".new", "w") as file:
        json.dump(value, file, indent=1)
    os.rename(path + ".new", path)


def ask(query, seconds=1.5):
    """What the terminal answers to `query`; every terminal answers the DA1 that follows it."""
    os.write(1, query.encode() + b"\x1b[c")
    answer = b""
    end = time.monotonic() + seconds
    while not re.search(rb"\x1b\[\?[0-9;]*c", answer) and time.monotonic() < end:
        if select.select([0], [], [], 0.1)[0]:
            answer += os.read(0, 4096)
    return re.sub(rb"\x1b\[\?[0-9;]*c", b"", answer, count=1).decode("latin-1") if query else answer.decode("latin-1")


def modes():
    found = {}
    for name, number in MODES.items():
        reply = re.search(r"\$?%d;(\d)\$y" % number, ask(f"\x1b[?{number}$p"))
        found[name] = {"1": "on", "2": "off", "3": "on", "4": "off"}.get(reply and reply[1], "unknown")
    kitty = re.search(r"\x1b\[\?(\d+)u", ask("\x1b[?u"))
    found["kitty flags"] = kitty[1] if kitty else "unknown"
    cursor = re.search(r"\$r(\d*) q", ask("\x1bP$q q\x1b\\"))
    found["cursor shape"] = cursor[1] if cursor else "unknown"
    return found


def size():
    return fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8)


def copy():
    """Lets the terminal copy what the file `clipboard` has, where no other program can."""
    source = os.path.join(FOLDER, "clipboard")
    if os.path.exists(source):
        text = base64.b64encode(open(source, "rb").read()).decode()
        os.remove(source)
        for selection in "cp":
            os.write(1, f"\x1b]52;{selection};{text}\a".encode())


def main():
    line = termios.tcgetattr(0)
    tty.setraw(0)
    save("replies.json", {
        "DA1": ask("", 3), "DA2": ask("\x1b[>c"), "XTVERSION": ask("\x1b[>0q"), "kitty": ask("\x1b[?u"),
        "background": ask("\x1b]11;?\x1b\\"), "foreground": ask("\x1b]10;?\x1b\\"),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    })
    before = modes()
    traffic = open(os.path.join(FOLDER, "traffic"), "w", buffering=1)

    def note(kind, value):
        traffic.write(json.dumps([kind, value]) + "\n")

    def resized(*_):
        rows, columns = struct.unpack("HHHH", size())[:2]
        fcntl.ioctl(master, termios.TIOCSWINSZ, size())
        note("size", [columns, rows])

    child, master = pty.fork()
    if child == 0:
        time.sleep(0.2)  # until the size is set
        os.execvp(COMMAND[0], COMMAND)
    resized()
    signal.signal(signal.SIGWINCH, resized)
    while True:
        ready, _, _ = select.select([0, master], [], [])
        try:
            if 0 in ready:
                piece = os.read(0, 65536)
                note("in", piece.decode("latin-1"))
                copy()
                os.write(master, piece)
            if master in ready:
                piece = os.read(master, 65536)
                if not piece:
                    break
                note("out", piece.decode("latin-1"))
                while piece:
                    piece = piece[os.write(1, piece):]
        except OSError:
            break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    after = modes()
    termios.tcsetattr(0, termios.TCSANOW, line)
    subprocess.run(["stty", "-a"], stdout=open(os.path.join(FOLDER, "stty"), "w"))
    print("the shell is back", flush=True)
    save("end.json", {"status": status, "before": before, "after": after})
    while not os.path.exists(os.path.join(FOLDER, "close")):
        time.sleep(0.05)


main()
