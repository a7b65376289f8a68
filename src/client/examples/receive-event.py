#!/usr/bin/env python3
"""Receives events, stores each in a folder, prints its "id type seq", once. Needs Python 3.7 or later, nothing else. Put TLS in front.

  SECRET=whsec_... PORT=8080 SEEN=/var/lib/events python3 receive-event.py

Pitfalls of Python:
- The raw body: verify the bytes (Flask's request.get_data(), Django's request.body), not json.dumps of what was parsed.
- The key is the decoded base64 after whsec_, not the text.
- The time of == shows how much is equal; the time of hmac.compare_digest does not. It takes ASCII text or bytes.
- print() of a process without a terminal waits in a buffer: flush it.
- The timeout of a socket starts anew with each byte: close the connection when the time of the whole request is over.
- A framework sends its answer when the view returns: hand the work to a thread or a queue, and return at once.
"""
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import re
import socket
import sys
import tempfile
import time

secret = os.environ.get("SECRET", "")
try:
    key = base64.b64decode(secret[len("whsec_") :], validate=True)
except ValueError:
    key = b""
if not secret.startswith("whsec_") or len(key) < 24:
    sys.exit("SECRET must be whsec_ and base64 of at least 24 bytes")

# An unverified request may come from anybody, so its size is limited. An event comes from one call, which has at most 64 KiB.
MOST_BYTES = 256 * 1024
MOST_SECONDS = 10
MOST_CONNECTIONS = 200

# Without SEEN the folder is a new one, so a restart forgets the stored events.
folder = os.environ.get("SEEN") or tempfile.mkdtemp(prefix="events-")


def fault(headers, body):
    """Why this request must be refused; None for a request of the service."""
    id, timestamp, signatures = (headers.get("webhook-" + name) for name in ("id", "timestamp", "signature"))
    if not id or not timestamp or not signatures:
        return "a header is missing"
    if not re.fullmatch("[A-Za-z0-9_-]{1,100}", id):
        return "no id of the service"
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > 300:
        return "too old, or from the future"
    digest = hmac.new(key, f"{id}.{timestamp}.".encode("utf-8") + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # There are two signatures while the secret is being rotated.
    if not any(hmac.compare_digest(each.encode("utf-8"), expected) for each in signatures.split(" ")):
        return "wrong signature"
    return None


def store(id, body):
    """Stores an event and its id in one step: the id is the name of the linked file. With a database, this is one INSERT with the id as
    the key. Says whether the event is new. Raises OSError when the event was not stored. Only an id that exists is a duplicate."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=id + ".") as written:
        written.write(body)
        written.flush()
        try:
            os.link(written.name, os.path.join(folder, id + ".json"))
        except FileExistsError:
            return False
    return True


def work(id, body):
    try:
        event = json.loads(body)
        print(id, event["type"], event["data"]["seq"], flush=True)
    except Exception as error:
        print(id, "is no event:", repr(error), file=sys.stderr, flush=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    error_content_type = "text/plain"
    error_message_format = "%(message)s"

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not re.fullmatch("[0-9]{1,15}", length):
            return self.answer(411, "send a content-length")
        if int(length) > MOST_BYTES:
            return self.answer(413, "too large")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return None
        why = fault(self.headers, body)
        if why is not None:
            print("refused:", why, file=sys.stderr, flush=True)
            return self.answer(400, why)
        id = self.headers["webhook-id"]
        try:
            is_new = store(id, body)
        except OSError as error:
            print("not stored:", error, file=sys.stderr, flush=True)
            return self.answer(503, "not stored")
        # Finish your answer before you start the work: without an answer in 15 s, the event is sent again. Answer a duplicate and an
        # unknown type with 2xx too. This answer has ended when it is flushed, because a 204 has no body.
        self.answer(204)
        if is_new:
            work(id, body)

    def answer(self, status, text=""):
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode("utf-8"))
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = MOST_CONNECTIONS
    # When each open connection began, the oldest first. A new one closes the oldest, so that half-sent requests keep nobody out.
    began = {}

    def get_request(self):
        connection, address = super().get_request()
        self.began[connection] = time.monotonic()
        return connection, address

    def service_actions(self):
        """Runs after each new connection, and twice a second."""
        for connection, began in self.began.copy().items():
            if len(self.began) <= MOST_CONNECTIONS and time.monotonic() - began < MOST_SECONDS:
                break
            self.began.pop(connection, None)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, connection):
        self.began.pop(connection, None)
        super().shutdown_request(connection)

    def handle_error(self, *_):
        print("not answered:", repr(sys.exc_info()[1]), file=sys.stderr, flush=True)


Server(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
