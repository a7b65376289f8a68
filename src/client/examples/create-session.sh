#!/bin/sh
# Opens a session and prints its chat_id. Needs openssl and curl.
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
set -eu

body=$(cat <<JSON
{"appid":"$APPID","timestamp":$(date +%s),"ranstr":"$(openssl rand -hex 16)","sbs":"customer_001","ip":"203.0.113.7","sbs_mc":"王伟","content":"我的订单在哪里？","kefu_id":[$AGENT_ID],"fzr_uid":${AGENT_ID%%,*}}
JSON
)
signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* //')

headers=$(mktemp)
trap 'rm -f "$headers"' EXIT
answer=$(printf %s "$body" | curl -sS -m 10 -D "$headers" "$BASE_URL/openapi/chat/create_gd" \
  -H 'Content-Type: application/json' -H "x-chat-signature: $signature" --data-binary @-)

chat_id=$(printf %s "$answer" | sed -n 's/^{"code":1,.*"chat_id":\([0-9]*\).*/\1/p')
if [ -z "$chat_id" ]; then
  message=$(printf %s "$answer" | sed -n 's/.*"msg":"\([^"]*\)".*/\1/p')
  detail=$(tr -d '\r' < "$headers" | sed -n 's/^[Xx]-[Ee]rror-[Dd]etail: //p')
  echo "refused: ${message:-$answer}${detail:+ ($detail)}" >&2
  exit 1
fi
echo "$chat_id"
