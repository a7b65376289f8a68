#!/usr/bin/env python3
"""Opens a session and prints its chat_id. Needs Python 3.7 or later and nothing else.

  BASE_URL=https://... APPID=... SECRET=... AGENT_ID=10411,10427 python3 create-session.py

Pitfalls of Python:
- Re-serialising: `requests.post(url, json=fields)` serialises again, with other spaces than your json.dumps. Sign bytes and
  send those bytes (`data=body`).
- \\u escapes: json.dumps writes Chinese text as \\u738b\\u4f1f unless told ensure_ascii=False. Either is good; signing one
  and sending the other is not.
- time.time() is a float; the timestamp is an integer.
- Key order does not matter, but sort_keys in only one of two dumps does. A body read from a file may end in a newline:
  sign it with the newline or send it without.
"""
import hashlib
import hmac
import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.request

agents = [int(agent) for agent in os.environ["AGENT_ID"].split(",")]

body = json.dumps(
    {
        "appid": os.environ["APPID"],
        "timestamp": int(time.time()),
        "ranstr": secrets.token_hex(16),
        "sbs": "customer_001",
        "ip": "203.0.113.7",
        "sbs_mc": "王伟",
        "content": "我的订单在哪里？",
        "kefu_id": agents,
        "fzr_uid": agents[0],
    },
    ensure_ascii=False,
).encode("utf-8")
signature = hmac.new(os.environ["SECRET"].encode("utf-8"), body, hashlib.sha256).hexdigest()

request = urllib.request.Request(
    os.environ["BASE_URL"] + "/openapi/chat/create_gd",
    data=body,
    headers={"Content-Type": "application/json", "x-chat-signature": signature},
)
try:
    answer = urllib.request.urlopen(request, timeout=10)
except urllib.error.HTTPError as refusal:  # a refusal is an answer too
    answer = refusal
envelope = json.loads(answer.read())

if envelope["code"] == 1:
    print(envelope["data"]["chat_id"])
else:
    detail = answer.headers.get("x-error-detail")
    text = "refused: " + envelope["msg"] + (f" ({detail})" if detail else "") + "\n"
    sys.stderr.buffer.write(text.encode("utf-8"))
    sys.exit(1)
