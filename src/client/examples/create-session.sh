#!/bin/sh
# Opens a session and prints its chat_id. Needs openssl and curl. An argument is the Idempotency-Key, for example an order's number.
#   BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 sh create-session.sh
#
# Pitfalls of the shell:
# - Trailing newline: `echo` adds a newline to the signed text, and `curl -d @file` removes the newlines of the file. Use `printf %s` and
#   `--data-binary`.
# - `openssl dgst` prints a label before the digits, and the label depends on the version: take the last word.
# - Quotes: build text that may contain " or \ with jq, not with variables in a template. Then sign the output of jq.
# - Chinese text is signed and sent as UTF-8 bytes. \u escapes are as good, if the signed bytes and the sent bytes are the same.
# - Key order does not matter, but a formatter between signing and sending changes the bytes.
# - `date +%s` gives the right seconds. Other users of the machine see arguments in `ps`, also the secret.
# - `curl -m` limits the whole call; --connect-timeout and --retry do not. -L, also in a ~/.curlrc, would send the signed data elsewhere:
#   with -q as its first argument curl reads no ~/.curlrc.
# - Without jq, this program reads only answers with code, msg and data in the service's own order, no quote in msg, and no nested data.
set -eu
export LC_ALL=C

key=${1-$(openssl rand -hex 16)}

check() { # NAME VALUE FORM
  printf %s "$2" | tr '\n' '\001' | grep -Eqx "$3" && return
  echo "$1 is missing or wrong: it must match $3" >&2
  exit 1
}
check BASE_URL "${BASE_URL-}" 'https?://[]0-9A-Za-z.:[-]+(/[0-9A-Za-z._~-]+)*'
check APPID "${APPID-}" '[0-9A-Za-z_-]+'
check SECRET "${SECRET-}" '[ -~]+'
check AGENT_ID "${AGENT_ID-}" '[1-9][0-9]{0,14}(,[1-9][0-9]{0,14})*'
check Idempotency-Key "$key" '[!-~]{1,255}'

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Makes one try, signed anew: at most 10 s until the body's end, and at most 64 KiB. Without -L, curl follows no redirect.
post() { # TIMESTAMP
  body=$(cat <<JSON
{"appid":"$APPID","timestamp":$1,"ranstr":"$(openssl rand -hex 16)","sbs":"customer_001","ip":"203.0.113.7","sbs_mc":"王伟","content":"我的订单在哪里？","kefu_id":[$AGENT_ID],"fzr_uid":${AGENT_ID%%,*}}
JSON
)
  signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* //')
  : > "$dir/heads"
  printf %s "$body" | curl -q -sS -m 10 -D "$dir/heads" "$BASE_URL/openapi/chat/create_gd" \
    -H 'Content-Type: application/json' -H "Idempotency-Key: $key" -H "x-chat-signature: $signature" \
    --data-binary @- 2> "$dir/error" | head -c 65536 > "$dir/answer"
  # Takes the last head: interim answers come before it, and a trailer comes after it.
  tr -d '\r' < "$dir/heads" | awk '/^HTTP\// && !inside { text = ""; inside = 1 } inside { text = text $0 "\n" } /^$/ { inside = 0 }
    END { printf "%s", text }' > "$dir/headers"
  # curl reports an error when head has read enough, but reports none when the headers end too soon.
  [ "$(wc -c < "$dir/answer")" -lt 65536 ] || : > "$dir/error"
  [ -s "$dir/error" ] || [ -z "$(tail -n 1 "$dir/headers")" ] || echo 'the connection broke' > "$dir/error"
}

# Prints what \(…\) matches when FORM matches the whole answer. A blank in FORM stands for any number of blanks.
answer() { # FORM
  tr -d '\000\r\n' < "$dir/answer" | sed -n "s/^$(printf %s "$1" | sed 's/ /[[:blank:]]*/g')\$/\1/p"
}

# The values of a header, with commas between them.
header() { # NAME
  grep -i "^$1:" "$dir/headers" | sed 's/^[^:]*: *//' | paste -sd , -
}

end() { # WHAT
  id=$(header x-request-id)
  printf %s "$1; Idempotency-Key $key${id:+, x-request-id $id}" | tr '\001-\037\177' ' ' |
    sed "s/$(printf '\302')[$(printf '\200-\237')]/ /g" >&2 # U+0080 to U+009F too
  echo >&2
  exit 1
}

offset= # how far this machine's clock is off, once the service has refused its time
try=1
while :; do
  post "$(($(date +%s) + ${offset:-0}))"
  status=$(sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p' "$dir/headers")
  chat_id=$(answer ' { "code" : 1 , "msg" : "[^"]*" , "data" : { "chat_id" : \([0-9]\{1,16\}\) \(,[^{}]*\)*} } ')
  if [ "$status" = 200 ] && [ -n "$chat_id" ] && [ ! -s "$dir/error" ]; then
    echo "$chat_id"
    exit
  fi
  refused=$(answer ' { "code" : -1 , "msg" : "\([^"]*\)" , "data" : [^{}]*} ')
  detail=$(header x-error-detail)
  retry_after=$(header retry-after)
  location=$(header location)
  if [ -s "$dir/error" ]; then
    what="no answer: $(head -n 1 "$dir/error")"
  elif [ -n "$refused" ]; then
    what="refused: $refused${detail:+ ($detail)}"
  else
    what="not an answer of this service: HTTP $status${location:+, a redirect to $location, which is not followed}"
  fi

  time=$(printf %s "$detail" | sed -n 's/^timestamp: .* of \([0-9]\{10\}\), Unix seconds.*/\1/p')
  if [ -n "$refused" ] && [ -n "$time" ] && [ -z "$offset" ] && [ "$try" -lt 3 ]; then
    offset=$((time - $(date +%s)))
    try=$((try + 1))
    continue
  fi
  # When every refusal has status 200, Retry-After shows that another try may help. Ask the operator after the service's own 500.
  again=
  case $status in 408 | 429 | [5-9]??) again=yes ;; esac
  if [ -s "$dir/error" ]; then
    again=yes
  elif [ -n "$refused" ]; then
    case $status in 500) again= ;; 200) again=$retry_after ;; esac
  fi
  [ -n "$again" ] || end "$what"
  [ "$try" -lt 3 ] || end "gave up after 3 tries: $what"
  # In whole seconds, rounded up. The longest of several values counts. A value that is no number counts as too long.
  pause=$(printf '%s\n' "${retry_after:-0}" | tr , '\n' | awk '{ gsub(/^[ \t]+|[ \t]+$/, "") }
    { seconds = /^[0-9]+(\.[0-9]*)?$/ && $0 + 0 <= 60 ? $0 + 0 : 61 } seconds > longest { longest = seconds }
    END { print int(longest) + (longest > int(longest)) }')
  [ "$pause" -le 60 ] || end "gave up, because Retry-After is $retry_after: $what"
  sleep "$pause"
  sleep "$((0x$(openssl rand -hex 1) % 3 + 1))"
  try=$((try + 1))
done
