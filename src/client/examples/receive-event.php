<?php
// Receives events, stores each in a folder, prints its "id type seq", once. Needs PHP 7.4 or later and no extension beyond hash and json.
// Put TLS in front.
//   SECRET=whsec_… PORT=8080 SEEN=/var/lib/events php receive-event.php
//
// Pitfalls of PHP:
// - php -S is for development: it reads a body of any size into memory, and waits for ever. So this program is a small server of its own.
// - Under FPM or Apache you need only fault() and store(). The raw body is php://input there: $_POST is empty for JSON. The web server
//   must limit size and time: Apache does, with LimitRequestBody 262144 and RequestReadTimeout header=10 body=10; nginx has no deadline
//   for a body.
// - json_encode(json_decode(…)) gives other bytes than were signed: verify the bytes, and parse afterwards.
// - hash_hmac gives hex unless its last argument is true: base64 is made of the raw bytes.
// - The key is the decoded base64 after whsec_, not the text.
// - The time of == shows how much is equal, and == takes "1e3" for "1000"; hash_equals does neither.
// - Finish your answer before you start the work: without an answer in 15 s, the event is sent again. Under FPM fastcgi_finish_request()
//   ends the answer. A 2xx that is only flushed makes the service hang up soon, and PHP aborts a script that writes to a closed
//   connection: call ignore_user_abort(true) first.
// - Under a web server with display_errors on, a script that dies answers 200, and the event would be lost: begin the script with
//   http_response_code(503).

// An unverified request may come from anybody, so its size is limited. An event comes from one call, which has at most 64 KiB.
const MOST_BYTES = 256 * 1024;
const MOST_HEADER_BYTES = 16 * 1024;
const MOST_SECONDS = 10;
const MOST_CONNECTIONS = 200;

// A warning becomes an exception unless @ silences it.
set_error_handler(static function (int $level, string $message): bool {
    if ((error_reporting() & $level) === 0) {
        return false;
    }
    throw new ErrorException($message);
});

$secret = (string) getenv('SECRET');
$key = strpos($secret, 'whsec_') === 0 ? base64_decode(substr($secret, 6), true) : false;
if (strlen((string) $key) < 24) {
    fwrite(STDERR, "SECRET must be whsec_ and base64 of at least 24 bytes\n");
    exit(1);
}
// Without SEEN the folder is a new one, so a restart forgets the stored events.
umask(0077);
$folder = (string) getenv('SEEN');
if ($folder === '') {
    $folder = sys_get_temp_dir() . '/events-' . bin2hex(random_bytes(8));
    mkdir($folder);
}

$backlog = stream_context_create(['socket' => ['backlog' => MOST_CONNECTIONS]]);
$address = 'tcp://127.0.0.1:' . (getenv('PORT') ?: '8080');
$server = stream_socket_server($address, $code, $why, STREAM_SERVER_BIND | STREAM_SERVER_LISTEN, $backlog);

// Open connections, the oldest first. A new one closes the oldest, so that half-sent requests keep nobody out.
$sockets = $began = $received = [];
for ($next = 0;; $next++) {
    $readable = $sockets + ['new' => $server];
    $none = null;
    stream_select($readable, $none, $none, 1);
    foreach ($readable as $i => $socket) {
        if ($i === 'new') {
            $accepted = @stream_socket_accept($server, 0);
            if ($accepted !== false) {
                stream_set_blocking($accepted, false);
                [$sockets[$next], $began[$next], $received[$next]] = [$accepted, hrtime(true), ''];
            }
            continue;
        }
        $received[$i] .= @fread($socket, 65536);
        $request = requestOf($received[$i]);
        if ($request === null && !feof($socket)) {
            continue;
        }
        unset($sockets[$i], $began[$i], $received[$i]);
        $request === null ? fclose($socket) : receive($socket, $request, $key, $folder);
    }
    foreach (array_keys($sockets) as $i) {
        if (count($sockets) <= MOST_CONNECTIONS && hrtime(true) - $began[$i] < MOST_SECONDS * 1e9) {
            break;
        }
        fclose($sockets[$i]);
        unset($sockets[$i], $began[$i], $received[$i]);
    }
}

/**
 * The headers and the body of a whole request, or the status that refuses it. Null while more must come.
 *
 * @return array{array<string, string>, string}|int|null
 */
function requestOf(string $bytes)
{
    $end = strpos($bytes, "\r\n\r\n");
    if ($end === false) {
        return strlen($bytes) > MOST_HEADER_BYTES ? 431 : null;
    }
    $lines = explode("\r\n", substr($bytes, 0, $end));
    if (!preg_match('~^([A-Z]+) \S+ HTTP/1\.[01]$~D', array_shift($lines), $found)) {
        return 400;
    }
    if ($found[1] !== 'POST') {
        return 405;
    }
    $headers = [];
    foreach ($lines as $line) {
        [$name, $value] = explode(':', $line, 2) + [1 => ''];
        $headers[strtolower($name)] = trim($value);
    }
    $length = $headers['content-length'] ?? '';
    if (!preg_match('/^\d{1,15}$/D', $length)) {
        return 411;
    }
    if ((int) $length > MOST_BYTES) {
        return 413;
    }
    $body = (string) substr($bytes, $end + 4, (int) $length);
    return strlen($body) === (int) $length ? [$headers, $body] : null;
}

/**
 * Answers, hangs up, and then works.
 *
 * @param resource $socket
 * @param array{array<string, string>, string}|int $request
 */
function receive($socket, $request, string $key, string $folder): void
{
    if (is_int($request)) {
        answer($socket, $request, 'not taken');
        return;
    }
    [$headers, $body] = $request;
    $why = fault($key, $headers, $body);
    if ($why !== null) {
        fwrite(STDERR, "refused: $why\n");
        answer($socket, 400, $why);
        return;
    }
    $id = $headers['webhook-id'];
    try {
        $isNew = store($folder, $id, $body);
    } catch (RuntimeException $error) {
        fwrite(STDERR, "not stored: {$error->getMessage()}\n");
        answer($socket, 503, 'not stored');
        return;
    }
    // Answer a duplicate and an unknown type with 2xx too.
    answer($socket, 204, '');
    if ($isNew) {
        work($id, $body);
    }
}

/** @param resource $socket */
function answer($socket, int $status, string $text): void
{
    $length = $status === 204 ? '' : 'content-length: ' . strlen($text) . "\r\n";
    @fwrite($socket, "HTTP/1.1 $status Answer\r\n{$length}connection: close\r\n\r\n$text");
    @stream_socket_shutdown($socket, STREAM_SHUT_WR);
    fclose($socket);
}

/** One process answers all requests, so longer work belongs in a queue that another process reads. */
function work(string $id, string $body): void
{
    try {
        $event = json_decode($body, false, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
        echo "$id $event->type {$event->data->seq}\n";
    } catch (Throwable $error) {
        fwrite(STDERR, "$id is no event: {$error->getMessage()}\n");
    }
}

/**
 * Stores an event and its id in one step: the id is the name of the linked file. With a database, this is one INSERT with the id as the
 * key. Throws when the event was not stored. Only an id that exists is a duplicate.
 *
 * @return bool whether the event is new
 */
function store(string $folder, string $id, string $body): bool
{
    $written = "$folder/$id." . bin2hex(random_bytes(8));
    // PHP caches the real path of a name for two minutes.
    clearstatcache(true);
    try {
        if (@file_put_contents($written, $body) === strlen($body) && @link($written, "$folder/$id.json")) {
            return true;
        }
        $why = error_get_last()['message'] ?? 'not all was written';
        if (is_file("$folder/$id.json")) {
            return false;
        }
        throw new RuntimeException($why);
    } finally {
        @unlink($written);
    }
}

/**
 * Why this request must be refused; null for a request of the service.
 *
 * @param array<string, string> $headers
 */
function fault(string $key, array $headers, string $body): ?string
{
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    $signatures = $headers['webhook-signature'] ?? '';
    if ($id === '' || $timestamp === '' || $signatures === '') {
        return 'a header is missing';
    }
    if (!preg_match('/^[\w-]{1,100}$/D', $id)) {
        return 'no id of the service';
    }
    if (!preg_match('/^\d{1,12}$/D', $timestamp) || abs(time() - (int) $timestamp) > 300) {
        return 'too old, or from the future';
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    // There are two signatures while the secret is being rotated.
    foreach (explode(' ', $signatures) as $signature) {
        if (hash_equals($expected, $signature)) {
            return null;
        }
    }
    return 'wrong signature';
}
