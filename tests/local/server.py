"""A scripted `llama-server`: its flags and its ways of failing, without a model.

The folder in SCRIPT has what it does: `old` (an older help), `loading` (loads as long as the file is
there), `dies_loading` and `dies_answering` (their text goes to standard error; the second once only). It
writes `starts` (the arguments of each start, one JSON array a line) and `pid`.
"""

import http.server
import json
import os
import socketserver
import sys

SCRIPT = os.environ["SCRIPT"]
HELP = """-m,    --model FNAME
--host HOST      ip address to listen, or bind to an UNIX socket if the address ends with .sock
--api-key-file FNAME
-a,    --alias STRING
-c,    --ctx-size N
-np,   --parallel N
--offline
--ui, --webui, --no-ui, --no-webui
"""


def at(name):
    return os.path.join(SCRIPT, name)


def die(name, status):
    """Ends with what is in the file, if there is one."""
    if os.path.exists(at(name)):
        with open(at(name)) as text:
            sys.stderr.write(text.read())
            sys.stderr.flush()
        if name == "dies_answering":
            os.unlink(at(name))
        os._exit(status)


if "--help" in sys.argv:
    print(HELP.replace(".sock", "") if os.path.exists(at("old")) else HELP)
    sys.exit(0)

arguments = sys.argv[1:]
with open(at("starts"), "a") as starts:
    starts.write(json.dumps(arguments) + "\n")


def value(flag):
    return arguments[arguments.index(flag) + 1]


window = int(os.environ.get("SERVED", value("-c") if "-c" in arguments else value("--ctx-size")))
with open(value("--api-key-file")) as file:
    key = file.read().strip()


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_refused(self):
        die("dies_loading", 1)
        if os.path.exists(at("loading")):
            self.answer(503, {"error": {"message": "Loading model", "code": 503}})
        elif self.path != "/health" and self.headers.get("Authorization") != f"Bearer {key}":
            self.answer(401, {"error": {"message": "Invalid API Key", "code": 401}})
        else:
            return False
        return True

    def do_GET(self):
        if self.is_refused():
            return
        if self.path == "/v1/models":
            model = {"id": value("--alias"), "object": "model", "owned_by": "llamacpp"}
            self.answer(200, {"object": "list", "data": [model]})
        elif self.path == "/props":
            self.answer(200, {"default_generation_settings": {"n_ctx": window}})
        else:
            self.answer(200, {"status": "ok"})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.is_refused():
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.chunk({"content": "Good "})
        die("dies_answering", 3)
        self.chunk({"content": "morning."})
        self.chunk({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def chunk(self, delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        self.wfile.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        self.wfile.flush()


with open(at("pid"), "w") as file:
    file.write(f"{os.getpid()}\n")
Server(value("--host"), Handler).serve_forever()
