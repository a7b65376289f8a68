<?php
// Opens a session and prints its chat_id. Needs PHP 7.4 or later and no extension beyond hash and json.
//   BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 php create-session.php
//
// Pitfalls of PHP:
// - Re-serialising: call json_encode once, sign that string and send that string. Guzzle's 'json' option encodes again; use 'body'.
// - \u escapes: json_encode writes Chinese text as \u738b\u4f1f and / as \/ unless told otherwise. Either is good; signing one
//   and sending the other is not.
// - Ids from a form or the environment are strings: "10411" is refused, 10411 is not. An array with a gap in its keys (after
//   array_filter or array_unique) is encoded as an object: put array_values around it.
// - hash_hmac gives hex; with true as its last argument it gives raw bytes, which are refused.
// - Key order does not matter. A body read from a file may end in a newline: sign it with the newline or send it without.

$agents = array_map('intval', explode(',', getenv('AGENT_ID')));

$body = json_encode([
    'appid' => getenv('APPID'),
    'timestamp' => time(),
    'ranstr' => bin2hex(random_bytes(16)),
    'sbs' => 'customer_001',
    'ip' => '203.0.113.7',
    'sbs_mc' => '王伟',
    'content' => '我的订单在哪里？',
    'kefu_id' => $agents,
    'fzr_uid' => $agents[0],
], JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR);
$signature = hash_hmac('sha256', $body, getenv('SECRET'));

$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => ['Content-Type: application/json', "x-chat-signature: $signature"],
    'content' => $body,
    'timeout' => 10,
    'ignore_errors' => true, // a refusal is an answer too
]]);
$stream = @fopen(getenv('BASE_URL') . '/openapi/chat/create_gd', 'r', false, $context);
if ($stream === false) {
    fwrite(STDERR, error_get_last()['message'] . "\n");
    exit(1);
}
$envelope = json_decode(stream_get_contents($stream), false, 512, JSON_THROW_ON_ERROR);

if ($envelope->code === 1) {
    echo $envelope->data->chat_id, "\n";
} else {
    $detail = '';
    foreach (stream_get_meta_data($stream)['wrapper_data'] as $header) {
        if (stripos($header, 'x-error-detail: ') === 0) {
            $detail = ' (' . substr($header, 16) . ')';
        }
    }
    fwrite(STDERR, "refused: $envelope->msg$detail\n");
    exit(1);
}
