<?php
// Receives events, stores each in a folder, logs its "id type seq", once. Needs PHP 7.4 or later and no extension beyond hash and json.
// Put TLS in front.
//   SECRET=whsec_… SEEN=/var/lib/events php -S 127.0.0.1:8080 receive-event.php
//
// Pitfalls of PHP:
// - The raw body is php://input. $_POST is empty for JSON, and json_encode(json_decode(…)) gives other bytes than were signed.
// - hash_hmac gives hex unless its last argument is true: base64 is made of the raw bytes.
// - The key is the decoded base64 after whsec_, not the text.
// - == compares in a time that tells how much is right, and takes "1e3" for "1000"; hash_equals does neither.
// - A process ends with its request, so what has arrived is remembered outside it.
// - Finish your answer before you start the work: without one in 15 s, the event is sent again. But a 2xx that is flushed before the
//   work makes the service hang up soon, and PHP aborts a script that writes to a connection that is gone: call
//   ignore_user_abort(true) first. Under FPM fastcgi_finish_request() ends the answer.
// - A script that dies answers 200 where display_errors is on, and the event would be lost. So the status is 503 until it is known.

http_response_code(503);

$secret = (string) getenv('SECRET');
$key = strpos($secret, 'whsec_') === 0 ? base64_decode(substr($secret, 6), true) : false;
if ($key === false || $key === '') {
    http_response_code(500);
    error_log('SECRET must be whsec_ and base64');
    exit;
}

$body = file_get_contents('php://input', false, null, 0, 1000001);
$why = strlen($body) > 1000000 ? 'too large' : fault($key, $body);
if ($why !== null) {
    error_log("refused: $why");
    http_response_code(400);
    echo $why;
    exit;
}

$id = $_SERVER['HTTP_WEBHOOK_ID'];
try {
    $isNew = store($id, $body);
} catch (RuntimeException $error) {
    error_log('not stored: ' . $error->getMessage());
    echo 'not stored';
    exit;
}

// A duplicate and an unknown type get a 2xx too.
ignore_user_abort(true);
http_response_code(204);
function_exists('fastcgi_finish_request') ? fastcgi_finish_request() : flush();
if ($isNew) {
    $event = json_decode($body, false, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
    error_log("$id $event->type {$event->data->seq}");
}

/**
 * Stores an event, and then remembers its id: here both are one link, because a file with the event gets its id as its name. With a
 * database it is one INSERT with the id as the key. Throws when it did not work: only an id that is there is a duplicate.
 *
 * @return bool whether the event is new
 */
function store(string $id, string $body): bool
{
    $folder = getenv('SEEN') ?: sys_get_temp_dir();
    $written = "$folder/$id." . bin2hex(random_bytes(8));
    umask(0077);
    // PHP remembers for two minutes where a path leads.
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

/** Why this request must not be believed; null for one of the service's. */
function fault(string $key, string $body): ?string
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    $signatures = $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '';
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
    // There are two while the secret is being rotated.
    foreach (explode(' ', $signatures) as $signature) {
        if (hash_equals($expected, $signature)) {
            return null;
        }
    }
    return 'wrong signature';
}
