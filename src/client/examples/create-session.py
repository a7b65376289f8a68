#!/usr/bin/env python3
"""Opens a session and prints its chat_id. Needs Python 3.7 or later and nothing else.
An argument is the Idempotency-Key, for example an order's number.

  BASE_URL=https://... APPID=... SECRET=... AGENT_ID=10411,10427 python3 create-session.py

Pitfalls of Python:
- Re-serialising: `requests.post(url, json=fields)` serialises again, with other spaces than your json.dumps. Sign bytes and
  send those bytes (`data=body`).
- \\u escapes: without ensure_ascii=False, json.dumps writes Chinese text as \\u738b\\u4f1f. Both forms are right, but sign
  and send the same bytes.
- time.time() is a float; the timestamp is an integer.
- Key order does not matter, but a sort_keys in only one of two dumps gives other bytes. A body read from a file may end in a
  newline: sign it with the newline or send it without.
- The timeout of urlopen and requests starts anew with each piece that arrives, so nothing limits the wait for a slow answer.
"""
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import secrets
import socket
import sys
import threading
import time
import urllib.parse

key = sys.argv[1] if len(sys.argv) > 1 else secrets.token_hex(16)
for name, value, form in (
    ("BASE_URL", os.environ.get("BASE_URL", ""), r"https?://[\[\]0-9A-Za-z.:-]+(/[0-9A-Za-z._~-]+)*"),
    ("APPID", os.environ.get("APPID", ""), "[0-9A-Za-z_-]+"),
    ("SECRET", os.environ.get("SECRET", ""), "[ -~]+"),
    ("AGENT_ID", os.environ.get("AGENT_ID", ""), "[1-9][0-9]{0,14}(,[1-9][0-9]{0,14})*"),
    ("Idempotency-Key", key, "[!-~]{1,255}"),
):
    if not re.fullmatch(form, value):
        sys.exit(f"{name} is missing or wrong: it must match {form}")
agents = [int(agent) for agent in os.environ["AGENT_ID"].split(",")]


def post(timestamp):
    """Makes one try, signed anew: at most 10 s until the body's end, and at most 64 KiB. With an error it returns what came before it."""
    fields = {
        "appid": os.environ["APPID"],
        "timestamp": timestamp,
        "ranstr": secrets.token_hex(16),
        "sbs": "customer_001",
        "ip": "203.0.113.7",
        "sbs_mc": "王伟",
        "content": "我的订单在哪里？",
        "kefu_id": agents,
        "fzr_uid": agents[0],
    }
    body = json.dumps(fields, ensure_ascii=False).encode("utf-8")
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": key,
        "x-chat-signature": hmac.new(os.environ["SECRET"].encode("utf-8"), body, hashlib.sha256).hexdigest(),
    }
    done = {"head": (None, {}), "envelope": {}, "error": None}

    def exchange():
        try:
            url = urllib.parse.urlsplit(os.environ["BASE_URL"] + "/openapi/chat/create_gd")
            kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
            connection = kind(url.netloc, timeout=10)
            connection.connect()
            done["socket"] = connection.sock
            connection.request("POST", url.path, body, headers)  # follows no redirect
            answer = connection.getresponse()
            while 100 <= answer.status < 200 and answer.status != 101:
                answer.headers = None
                answer.begin()  # reads the next one
            done["head"] = answer.status, answer.headers
            text = answer.read(65536)
            # The length is what is still missing, or None when only the end of the connection shows the end.
            cut = answer.length or (answer.length is None and not answer.chunked and not text)
            if cut and len(text) < 65536:
                raise ConnectionError("the connection broke")
            connection.close()
            done["envelope"] = envelope_of(text)
        except (OSError, ValueError, http.client.HTTPException) as error:
            done["error"] = error

    # This runs in a thread, because the timeout of a socket starts anew with each byte that arrives.
    thread = threading.Thread(target=exchange, daemon=True)
    thread.start()
    thread.join(10)
    if thread.is_alive():
        if "socket" in done:
            try:
                done["socket"].shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed meanwhile
        return (*done["head"], {}, "nothing whole in 10 s")
    return (*done["head"], done["envelope"], done["error"])


def envelope_of(text):
    """Reads {"code":1 or -1,"msg":"…","data":…}. An answer in another form is not from this service, and gives {}."""
    try:
        envelope = json.loads(text.decode("utf-8"))
        known = type(envelope["code"]) is int and envelope["code"] in (1, -1) and isinstance(envelope["msg"], str)
        return envelope if known else {}
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}


def seconds_of(retry_after):
    """Retry-After in seconds. The longest of several values counts. A value that is no number counts as too long."""
    each = [text.strip() for text in (retry_after or "0").split(",")]
    return max(float(text) if re.fullmatch(r"\d+(\.\d*)?", text, re.ASCII) else float("inf") for text in each)


def end(what, headers):
    request_id = headers.get("x-request-id")
    line = f"{what}; Idempotency-Key {key}" + (f", x-request-id {request_id}" if request_id else "")
    sys.stderr.buffer.write(re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", line).encode("utf-8", "replace") + b"\n")
    sys.exit(1)


offset = None  # how far this machine's clock is off, once the service has refused its time
for tries in (1, 2, 3):
    status, headers, envelope, error = post(int(time.time()) + (offset or 0))
    code, data = envelope.get("code"), envelope.get("data")
    if status == 200 and code == 1 and isinstance(data, dict) and type(data.get("chat_id")) is int:
        print(data["chat_id"])
        break
    detail = headers.get("x-error-detail", "")
    retry_after = ", ".join(headers.get_all("Retry-After", [])) if headers else ""
    what = f"not an answer of this service: HTTP {status}"
    if error:
        what = f"no answer: {error}"
    elif code == -1:
        what = "refused: " + envelope["msg"] + (f" ({detail})" if detail else "")
    elif "location" in headers:
        what += f", a redirect to {headers['location']}, which is not followed"

    refused_time = re.match(r"timestamp: .* of (\d{10}), Unix seconds", detail)
    if code == -1 and refused_time and offset is None and tries < 3:
        offset = int(refused_time.group(1)) - int(time.time())
        continue
    # When every refusal has status 200, Retry-After shows that another try may help. Ask the operator after the service's own 500.
    again = error or status in (408, 429) or (status == 200 and code == -1 and retry_after)
    again = again or (status >= 500 and not (status == 500 and code == -1))
    if not again:
        end(what, headers)
    if tries == 3:
        end(f"gave up after 3 tries: {what}", headers)
    if seconds_of(retry_after) > 60:
        end(f"gave up, because Retry-After is {retry_after}: {what}", headers)
    time.sleep(seconds_of(retry_after) + random.uniform(1, 3))
