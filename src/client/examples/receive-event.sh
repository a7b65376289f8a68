#!/bin/sh
# Receives one event as a CGI program (of Apache or lighttpd, say), stores it in a folder, logs its "id type seq", once. Needs openssl.
#   in the web server's settings: SECRET=whsec_… and SEEN=/var/lib/events, a folder that it may write to
#
# Pitfalls of the shell:
# - The raw body goes from stdin to a file: $(cat) takes newlines at its end away, and NUL bytes.
# - The key is the decoded base64 after whsec_, not the text; `-hmac` would take the text, so it goes in as hexkey.
# - Arguments are visible to other users of the machine in `ps`, the key too.
# - [ = ] compares in a time that tells how much is right. So both sides go through the HMAC once more before they are compared.
# - A process ends with its request, so what has arrived is remembered outside it.
# - The answer ends when stdout is closed. Finish your answer before you start the work: without one in 15 s, the event is sent again.
set -eu
umask 077

case $SECRET in whsec_?*) ;; *) echo 'SECRET must be whsec_ and base64' >&2; exit 1 ;; esac
key=$(printf %s "${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
mac() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A; }

refuse() {
  echo "refused: $1" >&2
  printf 'Status: 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n%s' "$1"
  exit 0
}

unavailable() {
  echo "not stored: $1" >&2
  printf 'Status: 503 Service Unavailable\r\nContent-Type: text/plain\r\n\r\nnot stored'
  exit 0
}

id=${HTTP_WEBHOOK_ID:-} timestamp=${HTTP_WEBHOOK_TIMESTAMP:-} signatures=${HTTP_WEBHOOK_SIGNATURE:-}
{ [ -n "$id" ] && [ -n "$timestamp" ] && [ -n "$signatures" ]; } || refuse 'a header is missing'
case $id in *[!A-Za-z0-9_-]*) refuse 'no id of the service' ;; esac
case $timestamp in *[!0-9]* | 0* | ????????????*) refuse 'too old, or from the future' ;; esac
away=$(($(date +%s) - timestamp))
{ [ "$away" -le 300 ] && [ "$away" -ge -300 ]; } || refuse 'too old, or from the future'

body=$(mktemp "$SEEN/new.XXXXXX" 2>&1) || unavailable "$body"
trap 'rm -f "$body"' EXIT
head -c "${CONTENT_LENGTH:-0}" > "$body" || unavailable 'the body was not written'
expected=$({ printf %s "$id.$timestamp."; cat "$body"; } | mac)

# There are two while the secret is being rotated.
right=no
set -f
for signature in $signatures; do
  if [ "$(printf %s "$signature" | mac)" = "$(printf %s "v1,$expected" | mac)" ]; then right=yes; fi
done
[ "$right" = yes ] || refuse 'wrong signature'

# Stores the event, and then remembers its id: here both are one ln, because the file with the event gets its id as its name. With a
# database it is one INSERT with the id as the key. Only an id that is there is a duplicate; all else is 503, and comes again.
if why=$(ln "$body" "$SEEN/$id.json" 2>&1); then
  new=yes
elif [ -f "$SEEN/$id.json" ]; then
  new=no
else
  unavailable "$why"
fi

# A duplicate and an unknown type get a 2xx too.
printf 'Status: 204 No Content\r\n\r\n'
exec >&-
if [ "$new" = yes ]; then
  # The service writes type first, and seq first in data. With jq: jq -r '"\(.type) \(.data.seq)"'
  echo "$id $(sed -n 's/^{"type":"\([^"]*\)".*"data":{"seq":\([0-9]*\).*/\1 \2/p' "$body")" >&2
fi
