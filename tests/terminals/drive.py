"""Starts slug in terminals under Xvfb, types into them with X key events, and says what worked.

    drive.py SLUG FOLDER NAME...      `xterm`, or `xterm:light` for one background alone

Each terminal gets a folder below FOLDER with what passed (`inside.py`), screenshots, and `result.json`. What
slug shows is read from what it wrote, by pyte; what the terminal shows is in the screenshots, to look at.
Keys, paste, wheel, clicks and sizes are X events, so each goes the way of a user's.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pyte

HERE = os.path.dirname(os.path.abspath(__file__))
DARK, LIGHT = ("#1d1f21", "#c5c8c6"), ("#ffffff", "#202020")

# The command of each terminal, for a background, a text colour and a command in it.
KONSOLE = {DARK: "WhiteOnBlack", LIGHT: "BlackOnWhite"}
TERMINALS = {
    "xterm": lambda bg, fg, inner: ["xterm", "-fa", "DejaVu Sans Mono", "-fs", "10", "-geometry", "100x30",
                                    "-bg", bg, "-fg", fg, "-e", *inner],
    "urxvt": lambda bg, fg, inner: ["urxvt", "-fn", "xft:DejaVu Sans Mono:size=10", "-geometry", "100x30",
                                    "-bg", bg, "-fg", fg, "-e", *inner],
    "st": lambda bg, fg, inner: ["stterm", "-f", "DejaVu Sans Mono:size=10", "-g", "100x30", "-e", *inner],
    "alacritty": lambda bg, fg, inner: [
        "alacritty", "-o", "window.dimensions.columns=100", "-o", "window.dimensions.lines=30", "-o",
        "font.size=10", "-o", f"colors.primary.background='{bg}'", "-o", f"colors.primary.foreground='{fg}'",
        "-e", *inner],
    "kitty": lambda bg, fg, inner: [
        "kitty", "--config", "NONE", "-o", "remember_window_size=no", "-o", "initial_window_width=100c", "-o",
        "initial_window_height=30c", "-o", f"background={bg}", "-o", f"foreground={fg}", *inner],
    "konsole": lambda bg, fg, inner: ["konsole", "--nofork", "-p", "TerminalColumns=100", "-p",
                                      "TerminalRows=30", "-p", f"ColorScheme={KONSOLE[bg, fg]}", "-e", *inner],
    "gnome-terminal": lambda bg, fg, inner: [
        "dbus-run-session", "--", "sh", "-c",
        'p=org.gnome.Terminal.Legacy.Profile:/org/gnome/terminal/legacy/profiles:/:'
        '$(gsettings get org.gnome.Terminal.ProfilesList default | tr -d "\'")/; '
        'gsettings set $p use-theme-colors false; gsettings set $p background-color "$1"; '
        'gsettings set $p foreground-color "$2"; shift 2; '
        'exec gnome-terminal --wait --geometry=100x30 -- "$@"', "sh", bg, fg, *inner],
    "xfce4-terminal": lambda bg, fg, inner: [
        "dbus-run-session", "--", "xfce4-terminal", "--disable-server", "--geometry=100x30",
        f"--color-bg={bg}", f"--color-text={fg}", "-x", *inner],
    "foot": lambda bg, fg, inner: [
        "sh", "-c", "weston --backend=x11-backend.so --use-pixman --shell=kiosk-shell.so --socket=slug "
        "--width=1000 --height=600 & until [ -e $XDG_RUNTIME_DIR/slug ]; do sleep 0.1; done; "
        'WAYLAND_DISPLAY=slug "$@"; kill $!', "sh", "foot", "-o", f"colors.background={bg[1:]}", "-o",
        f"colors.foreground={fg[1:]}", *inner],
    # In an xterm that sends alt as others do, since it is the multiplexer that is tried.
    "tmux": lambda bg, fg, inner: ["xterm", *ALT, *TERMINALS["xterm"](bg, fg, [
        "tmux", "-L", f"slug-{os.getpid()}", "-f", "/dev/null", "new-session", *inner])[1:]],
    "screen": lambda bg, fg, inner: ["xterm", *ALT, *TERMINALS["xterm"](bg, fg, [
        "screen", "-c", "/dev/null", "-U", *inner])[1:]],
}
ALT = ["-xrm", "XTerm*metaSendsEscape: true", "-xrm", "XTerm*omitTranslation: fullscreen"]
# Shift+insert pastes something else there, or, as Weston has no primary selection, nothing.
CLIPBOARD_ONLY = ("gnome-terminal", "konsole", "xfce4-terminal", "foot")
# A multiplexer's own key is not typed: what it would do with the next key is its matter.
PREFIX = {"tmux": "ctrl+b", "screen": "ctrl+a"}

# An empty input, keys, and what the input has then. Each ends with a letter that shows where the cursor is.
EDITING = [
    ("letters", "a b", "ab"),
    ("capital letter", "shift+a b", "Ab"),
    ("alt+enter", "a alt+Return b", "a\nb"),
    ("ctrl+j", "a ctrl+j b", "a\nb"),
    ("left", "a b Left x", "axb"),
    ("right", "a b Left Left Right x", "axb"),
    ("home", "a b Home x", "xab"),
    ("end", "a b Home End x", "abx"),
    ("up", "a alt+Return b Up x", "ax\nb"),
    ("down", "a alt+Return b Up Down x", "a\nbx"),
    ("ctrl+a", "a b ctrl+a x", "xab"),
    ("ctrl+e", "a b ctrl+a ctrl+e x", "abx"),
    ("ctrl+left", "a space b ctrl+Left x", "a xb"),
    ("ctrl+right", "a space b Home ctrl+Right x", "ax b"),
    ("alt+left", "a space b alt+Left x", "a xb"),
    ("alt+right", "a space b Home alt+Right x", "ax b"),
    ("alt+b", "a space b alt+b x", "a xb"),
    ("alt+f", "a space b Home alt+f x", "ax b"),
    ("shift+left", "a b shift+Left x", "ax"),
    ("shift+home", "a b shift+Home x", "x"),
    ("ctrl+shift+left", "a space b ctrl+shift+Left x", "a x"),
    ("alt+a", "a b alt+a x", "x"),
    ("ctrl+x", "a b alt+a ctrl+x x", "x"),
    ("backspace", "a b BackSpace x", "ax"),
    ("shift+backspace", "a b shift+BackSpace x", "ax"),
    ("ctrl+h", "a b ctrl+h x", "ax"),
    ("delete", "a b Home Delete x", "xb"),
    ("ctrl+d", "a b Home ctrl+d x", "xb"),
    ("ctrl+w", "a space b ctrl+w x", "a x"),
    ("alt+backspace", "a space b alt+BackSpace x", "a x"),
    ("ctrl+backspace", "a space b ctrl+BackSpace x", "a x"),
    ("alt+d", "a space b Home alt+d x", "x b"),
    ("ctrl+delete", "a space b Home ctrl+Delete x", "x b"),
    ("ctrl+u", "a b ctrl+u x", "x"),
    ("ctrl+k", "a b Home ctrl+k x", "x"),
    ("ctrl+y", "a b ctrl+u ctrl+y x", "abx"),
    ("ctrl+_", "a b ctrl+u ctrl+underscore x", "abx"),
    ("ctrl+/", "a b ctrl+u ctrl+slash x", "abx"),
    ("ctrl+7", "a b ctrl+u ctrl+7 x", "abx"),
    ("alt+/", "a b ctrl+u ctrl+underscore alt+slash x", "x"),
]

# A key, and what is on screen then; escape closes it again.
SHEETS = [
    ("f1", "F1", "Keys|What you can press|keys"),
    ("?", "question", "Keys|What you can press|keys"),
    ("ctrl+p", "ctrl+p", "Commands"),
    ("ctrl+r", "ctrl+r", "rompts|istory"),
    ("alt+s", "alt+s", "Sessions"),
    ("ctrl+b", "ctrl+b", "Sessions"),
    ("ctrl+f", "ctrl+f", "earch"),
    ("f3", "F3", "earch"),
    ("/", "slash", "/help"),
    ("@", "at", "lib/|README"),
]


class Run:
    """A terminal with slug in it."""

    def __init__(self, slug, folder, name, colours, display):
        self.folder, self.name, self.display = folder, name, display
        shutil.rmtree(folder, ignore_errors=True)
        home = os.path.join(folder, "home")
        os.makedirs(home, mode=0o700)
        runtime = os.path.join(folder, "run")
        os.makedirs(runtime, mode=0o700)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": home, "DISPLAY": display, "LANG": "C.UTF-8", "SHELL": "/bin/sh",
            "XDG_RUNTIME_DIR": runtime, "LIBGL_ALWAYS_SOFTWARE": "1",
            "SCREENDIR": runtime, "NO_AT_BRIDGE": "1",
        }
        inner = [sys.executable, os.path.join(HERE, "inside.py"), folder, slug, "--demo", "plain"]
        self.results = {}
        self.read, self.size = 0, (100, 30)
        self.screen = pyte.Screen(100, 30)
        self.stream = pyte.ByteStream(self.screen)
        self.typed, self.written = "", ""
        self.cell, self.corner = None, (0, 0)
        log = open(os.path.join(folder, "terminal.log"), "w")
        self.process = subprocess.Popen(TERMINALS[name](*colours, inner), env=self.env, stdout=log, stderr=log,
                                        stdin=subprocess.DEVNULL, cwd=home, start_new_session=True)

    # What passed.

    def update(self):
        path = os.path.join(self.folder, "traffic")
        if not os.path.exists(path):
            return
        with open(path) as file:
            file.seek(self.read)
            for line in file:
                if not line.endswith("\n"):
                    break
                self.read += len(line)
                kind, value = json.loads(line)
                if kind == "size":
                    self.size = tuple(value)
                    self.screen.resize(lines=value[1], columns=value[0])
                elif kind == "in":
                    self.typed += value
                else:
                    self.written += value
                    # pyte takes kitty's keyboard sequences and the cursor's shape for text or other commands.
                    plain = re.sub(r"\x1b\[[<>=?][0-9;]*u|\x1b\[\d q", "", value)
                    self.stream.feed(plain.encode("latin-1"))

    def text(self):
        self.update()
        return "\n".join(line.rstrip() for line in self.screen.display)

    def input(self):
        """The text in the input: the rows below the last rule, without mark and hints."""
        lines = self.text().split("\n")
        rules = [n for n, line in enumerate(lines) if line.startswith("────")]
        if not rules:
            return None
        rows = []
        for line in lines[rules[-1] + 1:]:
            if not line.strip():
                break
            rows.append(line[3:])
        return "\n".join(rows)

    def wait(self, holds, seconds=4):
        end = time.monotonic() + seconds
        while True:
            if holds():
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.03)

    def shows(self, pattern, seconds=4):
        return self.wait(lambda: re.search(pattern, self.text()), seconds)

    def settled(self, quiet=0.5, seconds=20):
        """Waits until slug has written nothing for `quiet` seconds."""
        end = time.monotonic() + seconds
        last, since = None, time.monotonic()
        while time.monotonic() < end:
            self.update()
            if len(self.written) != last:
                last, since = len(self.written), time.monotonic()
            elif time.monotonic() - since > quiet:
                return
            time.sleep(0.05)

    # What a user does.

    def x(self, *arguments, **more):
        return subprocess.run(arguments, env=self.env, capture_output=True, text=True, timeout=20, **more)

    def keys(self, keys):
        self.x("xdotool", "key", "--delay", "25", *keys.split())

    def window(self):
        # Weston, around foot, has a class and no name.
        kind = ["--class", "[Ww]eston"] if self.name == "foot" else ["--name", "."]
        ids = self.x("xdotool", "search", "--onlyvisible", *kind).stdout.split()
        sizes = []
        for it in ids:
            shape = self.x("xdotool", "getwindowgeometry", "--shell", it).stdout
            values = dict(line.split("=") for line in shape.split())
            if values:
                sizes.append((int(values["WIDTH"]) * int(values["HEIGHT"]), it, values))
        return max(sizes)[1:] if sizes else (None, None)

    def point(self, column, row):
        """Puts the mouse on a cell, counted from 0. What is beside the cells comes from `calibrate`."""
        window, shape = self.window()
        width, height = self.cell or (int(shape["WIDTH"]) / self.size[0], int(shape["HEIGHT"]) / self.size[1])
        left, top = self.corner
        self.x("xdotool", "mousemove", "--window", window, str(int(left + (column + 0.5) * width)),
               str(int(top + (row + 0.5) * height)))

    def calibrate(self):
        """Clicks at two places, and finds out by what is reported where the cells are."""
        window, shape = self.window()
        places = []
        for share in (0.3, 0.7):
            x, y = int(int(shape["WIDTH"]) * share), int(int(shape["HEIGHT"]) * share)
            mark = len(self.typed)
            self.x("xdotool", "mousemove", "--window", window, str(x), str(y), "click", "1")
            press = r"\x1b\[<0;(\d+);(\d+)M"
            if not self.wait(lambda: (self.update(), re.search(press, self.typed[mark:]))[1], 2):
                return
            column, row = map(int, re.search(press, self.typed[mark:]).groups())
            places.append((x, y, column - 0.5, row - 0.5))
        (x1, y1, c1, r1), (x2, y2, c2, r2) = places
        self.cell = ((x2 - x1) / (c2 - c1), (y2 - y1) / (r2 - r1))
        self.corner = (x1 - c1 * self.cell[0], y1 - r1 * self.cell[1])

    def picture(self, name):
        time.sleep(0.4)
        self.x("import", "-window", "root", os.path.join(self.folder, name + ".png"))

    def note(self, name, works, detail=""):
        self.results[name] = {"works": bool(works), "detail": detail}
        print(f"  {'ok ' if works else 'NO '} {name}{': ' if detail else ''}{detail}", flush=True)

    def clear(self):
        """Empties the input."""
        for _ in range(6):
            text = self.input()
            if text == "" or text == "What should I do?" or (text and self.screen.cursor.x == 3 and "\n" not in text
                                                            and self.is_placeholder()):
                return
            self.keys("ctrl+c")
            before = text
            self.wait(lambda: self.input() != before, 2)

    def is_placeholder(self):
        return self.input() in ("", "What should I do?", "What next?") or "next" in (self.input() or "")

    # The parts of a run.

    def start(self):
        if not self.shows("enter send", 60) or not self.wait(lambda: self.window()[0], 10):
            self.note("start", False, self.text().strip()[:200])
            return False
        window, _ = self.window()
        self.x("xdotool", "windowfocus", "--sync", window)
        self.settled()
        self.note("start", "\x1b[?1049h" in self.written, f"{self.size[0]}x{self.size[1]}")
        self.picture("start")
        return True

    def editing(self):
        for name, keys, want in EDITING:
            if PREFIX.get(self.name) in keys.split():
                continue
            self.clear()
            mark = len(self.typed)
            self.keys(keys)
            works = self.wait(lambda: self.input() == want, 2)
            detail = "" if works else f"{self.input()!r}, sent {self.typed[mark:]!r}"
            size = self.size
            if not works and "alt+Return" in keys:
                self.settled(0.4, 3)
                if self.size[0] > 110:  # a key of the terminal's own: its full screen
                    detail = f"the terminal's own key: {size[0]}x{size[1]}"
                    self.keys("alt+Return")
                    self.wait(lambda: (self.update(), self.size[0] < 110)[1], 3)
            self.note(name, works, detail)
            if not works:
                self.recover()
        self.clear()

    def recover(self):
        """Back to an idle chat, whatever a key has done: a menu or a window of the terminal's own, too."""
        self.keys("Escape")
        window, _ = self.window()
        self.x("xdotool", "windowfocus", window)
        self.settled(0.3, 5)

    def sheets(self):
        for name, key, pattern in SHEETS:
            if PREFIX.get(self.name) == key:
                continue
            self.clear()
            before = self.text()
            mark = len(self.typed)
            self.keys(key)
            works = self.wait(lambda: self.text() != before and re.search(pattern, self.text()), 3)
            self.note(name, works, "" if works else f"sent {self.typed[mark:]!r}")
            if key == "F1":
                self.picture("keys")
            self.keys("Escape")
            closed = self.wait(lambda: self.text() == before or key in ("slash", "at"), 3)
            if not closed:
                self.note(f"escape after {name}", False)
                self.recover()
            elif "escape" not in self.results:
                self.note("escape", True)
        self.clear()
        mark = len(self.typed)
        self.keys("shift+Tab")
        works = self.shows(r"(?m)^ (plan|allow-edits)\b", 3)
        self.note("shift+tab", works, "" if works else f"sent {self.typed[mark:]!r}")
        if works:
            for _ in range(4):
                if re.search(r"(?m)^ ask\b", self.text()):
                    break
                self.keys("shift+Tab")
                self.settled(0.2, 3)
        mark = len(self.written)
        self.keys("ctrl+l")
        self.note("ctrl+l", self.wait(lambda: (self.update(), "\x1b[2J" in self.written[mark:]
                                               or len(self.written) - mark > 200)[1], 3))

    def paste(self):
        self.clear()
        text = "one\ntwo"
        if self.name == "foot":
            # No other program can copy for it: Weston takes that from the window with the keyboard alone.
            with open(os.path.join(self.folder, "clipboard"), "w") as file:
                file.write(text)
            self.keys("ctrl+l")
            self.settled(0.3, 3)
        else:
            for selection in ("primary", "clipboard"):
                subprocess.run(["xclip", "-i", "-selection", selection], env=self.env, input=text, text=True,
                               stdout=subprocess.DEVNULL, timeout=10)
        keys = "ctrl+shift+v" if self.name in CLIPBOARD_ONLY else "shift+Insert"
        mark = len(self.typed)
        self.keys(keys)
        works = self.wait(lambda: self.input() == text, 3)
        asks = {"urxvt": "y", "xfce4-terminal": "alt+p"}.get(self.name)
        if not works and asks:
            self.keys(asks)
            works = self.wait(lambda: self.input() == text, 3)
            keys += ", and the terminal's question"
        bracketed = "\x1b[200~" in self.typed[mark:]
        self.note("paste", works and bracketed, keys + ("" if bracketed else " without brackets")
                  + ("" if works else f": {self.input()!r}, sent {self.typed[mark:]!r}"))
        self.picture("paste")
        self.clear()
        if self.name == "foot":
            return
        # With shift, the terminal keeps the mouse for itself.
        self.point(20, 10)
        mark = len(self.typed)
        self.x("xdotool", "keydown", "shift", "click", "2", "keyup", "shift")
        works = self.wait(lambda: self.input() == text, 3)
        if not works and asks:
            self.keys(asks)
            works = self.wait(lambda: self.input() == text, 3)
        self.note("paste by shift+middle click", works, "" if works else f"sent {self.typed[mark:]!r}")
        self.clear()

    def shift_enter(self):
        self.clear()
        mark = len(self.typed)
        self.keys("a shift+Return b")
        works = self.wait(lambda: self.input() == "a\nb", 2)
        self.update()
        self.note("shift+enter", works, f"sent {self.typed[mark:]!r}")
        if not works:
            self.recover()
            self.keys("Escape")
            self.settled(1, 10)
            self.clear()

    def demo(self):
        """Plays the demo: yes to each question, until nothing moves."""
        self.clear()
        self.keys("g o Return")
        answered = 0
        end = time.monotonic() + 90
        while time.monotonic() < end:
            self.settled(0.8, 6)
            text = self.text()
            if re.search(r"y .*yes|yes, once|Yes, once|\by\b +yes", text, re.I):
                if answered == 0:
                    self.picture("question")
                answered += 1
                if "Scroll to the end" in text:
                    self.keys("Next Next Next")
                    self.settled(0.5, 5)
                self.keys("y")
                time.sleep(0.3)
            elif "esc stop" not in text and "enter send" in text:
                break
        self.note("y at a question", answered > 0, f"{answered} questions")
        self.picture("end")

    def scroll(self):
        rows = self.size[1]
        for name, key in [("pgup", "Prior"), ("pgdn", "Next"), ("alt+up", "alt+Up"), ("alt+down", "alt+Down"),
                          ("shift+up", "shift+Up"), ("shift+down", "shift+Down"), ("ctrl+home", "ctrl+Home"),
                          ("ctrl+end", "ctrl+End"), ("alt+p", "alt+p"), ("alt+n", "alt+n"), ("ctrl+o", "ctrl+o")]:
            self.settled(0.3, 5)
            before, mark = self.text(), len(self.typed)
            self.keys(key)
            works = self.wait(lambda: self.text() != before, 2)
            self.note(name, works, "" if works else f"sent {self.typed[mark:]!r}")
        self.keys("ctrl+o")
        self.keys("ctrl+End")
        self.settled(0.3, 5)
        self.calibrate()
        self.point(20, rows // 2)
        for name, button in [("wheel up", "4"), ("wheel down", "5")]:
            self.settled(0.3, 5)
            before, mark = self.text(), len(self.typed)
            self.x("xdotool", "click", button)
            works = self.wait(lambda: self.text() != before, 2)
            self.settled(0.3, 5)
            events = len(re.findall(r"\x1b\[<6[45];", self.typed[mark:]))
            self.note(name, works, f"{events} events a notch" if events else f"sent {self.typed[mark:]!r}")
        self.keys("ctrl+Home")
        self.settled(0.5, 5)
        lines = self.text().split("\n")
        panes = [n for n, line in enumerate(lines) if re.match(r" *[▸▾▶▼]", line)]
        if panes:
            before = self.text()
            for _ in range(2):
                mark = len(self.typed)
                self.point(6, panes[-1])
                self.x("xdotool", "click", "1")
                works = self.wait(lambda: self.text() != before, 2)
                press = re.search(r"\x1b\[<0;(\d+);(\d+)M", self.typed[mark:])
                if not press or int(press[2]) == panes[-1] + 1:
                    break
                # The rows were counted from two clicks, each of which may be half a row off.
                self.corner = (self.corner[0], self.corner[1] + (panes[-1] + 1 - int(press[2])) * self.cell[1])
            self.note("click", works, f"row {panes[-1] + 1}, sent {press[0] if press else self.typed[mark:]!r}")
            self.x("xdotool", "click", "1")
        else:
            self.note("click", False, "no pane on screen")
        self.settled(0.5, 5)
        mark = len(self.written)
        lines = self.text().split("\n")
        row = next((n for n, line in enumerate(lines[2:], 2) if re.match(r" *\w.{30}", line)), rows // 2)
        self.point(3, row)
        self.x("xdotool", "mousedown", "1")
        self.point(20, row)
        time.sleep(0.1)
        self.x("xdotool", "mouseup", "1")
        time.sleep(0.6)
        self.update()
        asked = "]52;c;" in self.written[mark:]
        if self.name == "foot":
            self.note("drag copies", asked, "OSC 52 written; the clipboard was not read")
        else:
            got = self.x("timeout", "3", "xclip", "-o", "-selection", "clipboard").stdout
            self.note("drag copies", asked and got != "one\ntwo" and got,
                      f"{'OSC 52 written' if asked else 'no OSC 52'}, clipboard has {got[:40]!r}")
        self.keys("Escape")

    def resize(self):
        window, shape = self.window()
        before = self.size
        width, height = int(int(shape["WIDTH"]) * 0.7), int(int(shape["HEIGHT"]) * 0.8)
        self.x("xdotool", "windowsize", window, str(width), str(height))
        changed = self.wait(lambda: (self.update(), self.size != before)[1], 5)
        self.settled(0.5, 5)
        lines = self.text().split("\n")
        wide = max(len(line) for line in lines)
        fits = changed and wide == self.size[0] and "─" * self.size[0] in lines
        self.note("resize", fits, f"{before} to {self.size}")
        self.picture("resized")

    def contrast(self):
        """The least contrast of a letter whose colour slug has set, with what is behind it."""
        with open(os.path.join(self.folder, "replies.json")) as file:
            replies = json.load(file)
        found = re.search(r"rgb:(\w+)/(\w+)/(\w+)", replies["background"])
        behind = [int(part, 16) / (16 ** len(part) - 1) for part in found.groups()] if found else None
        worst, where = 99, ""
        for row in range(self.screen.lines):
            for column in range(self.screen.columns):
                cell = self.screen.buffer[row][column]
                if not cell.data.isalnum() or not re.fullmatch("[0-9a-f]{6}", cell.fg):
                    continue
                back = [int(cell.bg[n:n + 2], 16) / 255 for n in (0, 2, 4)] if re.fullmatch(
                    "[0-9a-f]{6}", cell.bg) else behind
                if back is None:
                    continue
                front = [int(cell.fg[n:n + 2], 16) / 255 for n in (0, 2, 4)]
                if cell.reverse:
                    front, back = back, front
                light = sorted((luminance(front), luminance(back)))
                ratio = (light[1] + 0.05) / (light[0] + 0.05)
                if ratio < worst:
                    worst, where = ratio, self.screen.display[row].strip()[:40]
        known = f"background {replies['background']!r}" if found else "background not answered"
        self.note("contrast", worst >= 4.5, f"{worst:.1f} at {where!r}, {known}")

    def leave(self):
        self.recover()
        self.clear()
        self.keys("ctrl+c ctrl+c")
        end = os.path.join(self.folder, "end.json")
        if not self.wait(lambda: os.path.exists(end), 4):
            self.clear()
            self.keys("slash q u i t Return")
        if not self.wait(lambda: os.path.exists(end), 12):
            self.note("leave", False, self.text()[-300:])
            return
        with open(end) as file:
            told = json.load(file)
        wrong = {name: (told["before"][name], now) for name, now in told["after"].items()
                 if now != told["before"][name] and not name.startswith("cursor shape")}
        with open(os.path.join(self.folder, "stty")) as file:
            modes = file.read()
        cooked = all(f" {mode}" in f" {modes}".replace("\n", " ") for mode in ("icanon", "echo", "isig", "icrnl", "opost"))
        self.note("leave", told["status"] == 0 and not wrong and cooked,
                  f"status {told['status']}, " + (f"left behind {wrong}" if wrong else "all modes as before")
                  + f"; known: {', '.join(n for n, v in told['after'].items() if v != 'unknown')}")
        self.picture("left")

    def close(self):
        open(os.path.join(self.folder, "close"), "w").close()
        try:
            self.process.wait(4)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        with open(os.path.join(self.folder, "result.json"), "w") as file:
            json.dump(self.results, file, indent=1)


def luminance(colour):
    red, green, blue = (it / 12.92 if it <= 0.03928 else ((it + 0.055) / 1.055) ** 2.4 for it in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def main():
    slug, folder, names = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    number = 90 + os.getpid() % 400
    display = f":{number}"
    server = subprocess.Popen(["Xvfb", display, "-screen", "0", "1200x800x24", "-nolisten", "tcp"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(f"/tmp/.X11-unix/X{number}"):
        time.sleep(0.05)
    manager = subprocess.Popen(["openbox"], env={**os.environ, "DISPLAY": display}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        for name in names or TERMINALS:
            name, _, only = name.partition(":")
            for shade, colours in (("dark", DARK), ("light", LIGHT)):
                if shade == "light" and name == "st" or only not in ("", shade):
                    continue
                print(f"{name}, {shade}", flush=True)
                run = Run(slug, os.path.join(folder, f"{name}-{shade}"), name, colours, display)
                try:
                    if run.start():
                        if shade == "dark":
                            run.editing()
                            run.sheets()
                            run.paste()
                        run.demo()
                        run.contrast()
                        if shade == "dark":
                            run.scroll()
                            run.resize()
                            run.shift_enter()
                        run.leave()
                finally:
                    run.close()
    finally:
        manager.terminate()
        server.terminate()
        manager.wait()
        server.wait()


main()
