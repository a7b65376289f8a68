<?php
// Opens a session and prints its chat_id. Needs PHP 7.4 or later and no extension beyond hash, json and, for https, openssl.
// An argument is the Idempotency-Key, for example an order's number.
//   BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 php create-session.php
//
// Pitfalls of PHP:
// - Re-serialising: call json_encode once, sign that string and send that string. Guzzle's 'json' option encodes again; use 'body'.
// - \u escapes: without flags, json_encode writes Chinese text as \u738b\u4f1f and / as \/. Both forms are right, but sign and send the
//   same bytes.
// - Ids from a form or the environment are strings: "10411" is refused, 10411 is not. An array with a gap in its keys (after
//   array_filter or array_unique) is encoded as an object: put array_values around it.
// - hash_hmac gives hex; with true as its last argument it gives raw bytes, which are refused.
// - Key order does not matter. A body read from a file may end in a newline: sign it with the newline or send it without.
// - The timeout of fopen starts anew with each piece that arrives, and fopen takes a cut body for a whole one. CURLOPT_TIMEOUT limits
//   the whole call.
// - No timeout of stream_socket_client limits the look-up of a name; only the system's own timeout does.

$key = $argv[1] ?? bin2hex(random_bytes(16));
foreach ([
    ['BASE_URL', getenv('BASE_URL'), 'https?://[][0-9A-Za-z.:-]+(/[0-9A-Za-z._~-]+)*'],
    ['APPID', getenv('APPID'), '[0-9A-Za-z_-]+'],
    ['SECRET', getenv('SECRET'), '[ -~]+'],
    ['AGENT_ID', getenv('AGENT_ID'), '[1-9][0-9]{0,14}(,[1-9][0-9]{0,14})*'],
    ['Idempotency-Key', $key, '[!-~]{1,255}'],
] as [$name, $value, $form]) {
    if (!preg_match("#^($form)\$#D", (string) $value)) {
        fwrite(STDERR, "$name is missing or wrong: it must match $form\n");
        exit(1);
    }
}
$agents = array_map('intval', explode(',', getenv('AGENT_ID')));

/**
 * Makes one try, signed anew: at most 10 s until the body's end, and at most 64 KiB. $answer has the status, headers and envelope that
 * came.
 */
function post(int $timestamp, ?array &$answer): void
{
    global $agents, $key;
    $body = json_encode([
        'appid' => getenv('APPID'),
        'timestamp' => $timestamp,
        'ranstr' => bin2hex(random_bytes(16)),
        'sbs' => 'customer_001',
        'ip' => '203.0.113.7',
        'sbs_mc' => '王伟',
        'content' => '我的订单在哪里？',
        'kefu_id' => $agents,
        'fzr_uid' => $agents[0],
    ], JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR);
    $url = parse_url(getenv('BASE_URL') . '/openapi/chat/create_gd');
    if ($url === false) {
        throw new RuntimeException('BASE_URL is no address');
    }
    $tls = $url['scheme'] === 'https';
    $request = implode("\r\n", [
        "POST {$url['path']} HTTP/1.1",
        "Host: {$url['host']}" . (isset($url['port']) ? ":{$url['port']}" : ''),
        'Connection: close',
        'Content-Type: application/json',
        'Content-Length: ' . strlen($body),
        "Idempotency-Key: $key",
        'x-chat-signature: ' . hash_hmac('sha256', $body, getenv('SECRET')),
        '',
        $body,
    ]);

    // This does not use PHP's http wrapper: its timeout starts anew with each byte, and it takes a cut body for a whole one.
    $end = microtime(true) + 10;
    $address = "tcp://{$url['host']}:" . ($url['port'] ?? ($tls ? 443 : 80));
    $context = stream_context_create(['ssl' => ['peer_name' => trim($url['host'], '[]')]]);
    $socket = @stream_socket_client($address, $errno, $error, 10, STREAM_CLIENT_CONNECT, $context);
    if ($socket === false) {
        throw new RuntimeException($error ?: 'no connection');
    }
    stream_set_blocking($socket, false);
    while ($tls && ($secure = @stream_socket_enable_crypto($socket, true, STREAM_CRYPTO_METHOD_TLS_CLIENT)) !== true) {
        if ($secure === false) {
            throw new RuntimeException(error_get_last()['message'] ?? 'no TLS');
        }
        await($socket, $end);
    }
    @fwrite($socket, $request);
    for ($text = ''; strlen($text) < 65536; $text .= $piece) {
        [$answer, $whole] = answer_of($text);
        if ($whole || feof($socket)) {
            break;
        }
        await($socket, $end);
        $piece = (string) @fread($socket, min(8192, 65536 - strlen($text)));
    }
    if ($answer === null || ($whole === false && feof($socket))) {
        throw new RuntimeException('the connection broke');
    }
}

/** Waits for something to read, until $end. */
function await($socket, float $end): void
{
    [$read, $write, $except] = [[$socket], null, null];
    $left = (int) max(0, ($end - microtime(true)) * 1e6);
    if ($left === 0 || stream_select($read, $write, $except, 0, $left) === 0) {
        throw new RuntimeException('nothing whole in 10 s');
    }
}

/** The answer as far as it came, and whether it is whole, or null when only the end of the connection shows it. */
function answer_of(string $text): array
{
    $text = preg_replace('/\A(HTTP\/\S+ 1\d\d.*?\r\n\r\n)+/s', '', $text); // 100 Continue
    [$head, $body] = explode("\r\n\r\n", $text, 2) + [1 => ''];
    if ($head === $text || !preg_match('/\AHTTP\/\S+ (\d{3})/', $head, $status)) {
        return [null, false];
    }
    $headers = [];
    foreach (array_slice(explode("\r\n", $head), 1) as $line) {
        [$name, $value] = explode(':', $line, 2) + [1 => ''];
        $name = strtolower($name);
        $headers[$name] = (isset($headers[$name]) ? "$headers[$name], " : '') . trim($value);
    }
    $whole = null;
    if (in_array($status[1], ['204', '304'])) {
        $whole = true;
    } elseif (isset($headers['transfer-encoding'])) {
        [$chunks, $body, $size, $at] = [$body, '', 1, 0];
        while ($size > 0 && preg_match('/\G0*([0-9a-f]{1,7})\b[^\n]*\n/i', $chunks, $line, 0, $at)) {
            $size = hexdec($line[1]);
            $body .= substr($chunks, $at + strlen($line[0]), $size);
            $at += strlen($line[0]) + $size + 2;
        }
        $whole = $size === 0;
    } elseif (isset($headers['content-length'])) {
        $whole = strlen($body) >= (int) $headers['content-length'];
        $body = substr($body, 0, (int) $headers['content-length']);
    }
    return [[(int) $status[1], $headers, envelope_of($body)], $whole];
}

/** Reads {"code":1 or -1,"msg":"…","data":…}. An answer in another form is not from this service, and gives []. */
function envelope_of(string $body): array
{
    $envelope = json_decode($body, true);
    $known = is_array($envelope) && in_array($envelope['code'] ?? 0, [1, -1], true) && is_string($envelope['msg'] ?? null);
    return $known ? $envelope : [];
}

/** Retry-After in seconds. The longest of several values counts. A value that is no number counts as too long. */
function seconds_of(string $retry_after): float
{
    return max(array_map(function ($text) {
        return preg_match('/^\d+(\.\d*)?$/', trim($text)) ? (float) $text : INF;
    }, explode(',', $retry_after)));
}

function finish(string $what, array $headers): void
{
    global $key;
    $id = $headers['x-request-id'] ?? '';
    $line = "$what; Idempotency-Key $key" . ($id === '' ? '' : ", x-request-id $id");
    fwrite(STDERR, preg_replace('/([\x00-\x1f\x7f]|\xc2[\x80-\x9f])+/', ' ', $line) . "\n");
    exit(1);
}

$offset = null; // how far this machine's clock is off, once the service has refused its time
for ($tries = 1; ; $tries++) {
    [$answer, $error] = [null, null];
    try {
        post(time() + $offset, $answer);
    } catch (RuntimeException $failure) {
        $error = $failure->getMessage();
    }
    [$status, $headers, $envelope] = $answer ?? [0, [], []];
    $envelope = $error === null ? $envelope : [];
    $code = $envelope['code'] ?? 0;
    $chat_id = $envelope['data']['chat_id'] ?? null;
    if ($status === 200 && $code === 1 && is_int($chat_id)) {
        echo $chat_id, "\n";
        break;
    }
    $detail = $headers['x-error-detail'] ?? '';
    $retry_after = $headers['retry-after'] ?? '';
    $what = "not an answer of this service: HTTP $status";
    if ($error !== null) {
        $what = "no answer: $error";
    } elseif ($code === -1) {
        $what = "refused: $envelope[msg]" . ($detail === '' ? '' : " ($detail)");
    } elseif (isset($headers['location'])) {
        $what .= ", a redirect to $headers[location], which is not followed";
    }

    if ($code === -1 && $offset === null && $tries < 3 && preg_match('/^timestamp: .* of (\d{10}), Unix seconds/', $detail, $told)) {
        $offset = (int) $told[1] - time();
        continue;
    }
    // When every refusal has status 200, Retry-After shows that another try may help. Ask the operator after the service's own 500.
    $again = $error !== null || $status === 408 || $status === 429 || ($status === 200 && $code === -1 && $retry_after !== '')
        || ($status >= 500 && !($status === 500 && $code === -1));
    if (!$again) {
        finish($what, $headers);
    }
    if ($tries === 3) {
        finish("gave up after 3 tries: $what", $headers);
    }
    $pause = $retry_after === '' ? 0 : seconds_of($retry_after);
    if ($pause > 60) {
        finish("gave up, because Retry-After is $retry_after: $what", $headers);
    }
    sleep((int) ceil($pause) + random_int(1, 3));
}
