<?php
// Receives events, logs "id type seq" of each, once. Needs PHP 7.4 or later and no extension beyond hash and json. Put TLS in front.
//   SECRET=whsec_… SEEN=/var/lib/events php -S 127.0.0.1:8080 receive-event.php
//
// Pitfalls of PHP:
// - The raw body is php://input. $_POST is empty for JSON, and json_encode(json_decode(…)) gives other bytes than were signed.
// - hash_hmac gives hex unless its last argument is true: base64 is made of the raw bytes.
// - The key is the decoded base64 after whsec_, not the text.
// - == compares in a time that tells how much is right, and takes "1e3" for "1000"; hash_equals does neither.
// - A process ends with its request, so what has arrived is remembered outside it.

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

// A file for each id, for brevity: 'x' fails when it is there. Better a table with the id as its key, in the transaction that stores
// the event.
$id = $_SERVER['HTTP_WEBHOOK_ID'];
$isNew = @fopen((getenv('SEEN') ?: sys_get_temp_dir()) . '/' . hash('sha256', $id), 'x') !== false;

// Store the event, answer, and only then work on it: after 15 s without an answer it is sent again. A duplicate and an
// unknown type get a 2xx too.
http_response_code(204);
if ($isNew) {
    $event = json_decode($body, false, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
    error_log("$id $event->type {$event->data->seq}");
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
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
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
