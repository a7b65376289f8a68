#!/bin/sh
# Opens a session and prints its chat_id. Needs openssl and curl. An argument is the Idempotency-Key, for example an order's number.
#   BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 sh create-session.sh
#
# Pitfalls of the shell:
# - Trailing newline: `echo` adds one to what is signed, and `curl -d @file` takes those of the file away. Use `printf %s` and
#   `--data-binary`.
# - `openssl dgst` prints a label before the digits, another one in each version: take the last word.
# - Quotes: put text that may hold " or \ together with jq, not with variables in a template. Then sign what jq gave.
# - Chinese text is signed and sent as the UTF-8 bytes it is; \u escapes are as good, as long as both are the same bytes.
# - Key order does not matter; piping the body through a formatter after signing it does.
# - `date +%s` is the seconds that are wanted. Arguments are visible to other users of the machine in `ps`, the secret too.
# - `curl -m` limits the whole call; --connect-timeout and --retry do not. -L would send the signed data elsewhere, also from a
#   ~/.curlrc: -q reads none, if it is the first argument.
# - Without jq, answers are known only with code, msg and data in the service's own order, no quote in msg, and nothing nested in data.
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

# One try, signed anew: at most 10 s until the body's end, and at most 64 KiB of it. Without -L, curl follows no redirect.
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
  # The last head: interim answers come before it, and a trailer after it.
  tr -d '\r' < "$dir/heads" | awk '/^HTTP\// && !inside { text = ""; inside = 1 } inside { text = text $0 "\n" } /^$/ { inside = 0 }
    END { printf "%s", text }' > "$dir/headers"
  # curl calls it an error when head has read enough, and none when the headers end too soon.
  [ "$(wc -c < "$dir/answer")" -lt 65536 ] || : > "$dir/error"
  [ -s "$dir/error" ] || [ -z "$(tail -n 1 "$dir/headers")" ] || echo 'the connection broke' > "$dir/error"
}

# What \(…\) takes of an answer that is as a whole like this. A blank stands for any blanks, also for none.
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

offset= # of this machine's clock, once the service has refused it
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
  # Where every refusal is 200, Retry-After says that another try may help. A 500 of the service itself needs its operator.
  again=
  case $status in 408 | 429 | [5-9]??) again=yes ;; esac
  if [ -s "$dir/error" ]; then
    again=yes
  elif [ -n "$refused" ]; then
    case $status in 500) again= ;; 200) again=$retry_after ;; esac
  fi
  [ -n "$again" ] || end "$what"
  [ "$try" -lt 3 ] || end "gave up after 3 tries: $what"
  # In whole seconds, rounded up. Of several the longest counts; one that is no number counts as too long.
  pause=$(printf '%s\n' "${retry_after:-0}" | tr , '\n' | awk '{ gsub(/^[ \t]+|[ \t]+$/, "") }
    { seconds = /^[0-9]+(\.[0-9]*)?$/ && $0 + 0 <= 60 ? $0 + 0 : 61 } seconds > longest { longest = seconds }
    END { print int(longest) + (longest > int(longest)) }')
  [ "$pause" -le 60 ] || end "gave up, because Retry-After is $retry_after: $what"
  sleep "$pause"
  sleep "$((0x$(openssl rand -hex 1) % 3 + 1))"
  try=$((try + 1))
done
