// Opens a session and prints its chat_id. Needs Java 17 or later and no library.
// An argument is the Idempotency-Key, for example an order's number.
//   BASE_URL=https://... APPID=... SECRET=... AGENT_ID=10411,10427 java CreateSession.java
//
// Pitfalls of Java:
// - Charsets: without a charset, getBytes() and the compiler before Java 18 take the platform's. Name UTF_8 for the key and the body. The
//   Chinese text below is written in escapes, which every compiler reads.
// - Re-serialising: turn the body into bytes once, sign those bytes and send those bytes. A framework that is given an object (Spring's
//   RestTemplate, JAX-RS' Entity.json) writes it again, with null fields and another order.
// - \\u escapes in JSON (Gson writes < and ' that way) are as good as characters, if the signed bytes and the sent bytes are the same.
// - Key order does not matter. A body from a file or a text block may end in a newline: sign it with the newline, or strip it first.
// - HexFormat gives lower-case hex of 64 digits; new BigInteger(1, mac).toString(16) drops leading zeros.
// - System.currentTimeMillis() is milliseconds; the timestamp is seconds.
// - HttpRequest.timeout() ends with the headers, so nothing limits the wait for a body that stalls.
// - Without a JSON reader, this program reads only answers with code, msg and data in the service's own order, no quote in msg, and no
//   nested data.

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

public class CreateSession {
    // Java brings no JSON reader; with Jackson this is one readTree. A blank stands for any number of blanks.
    static final Pattern ACCEPTED = form(" \\{ 'code' : 1 , 'msg' : '[^']*' , 'data' : \\{ 'chat_id' : (\\d{1,16}) (,[^{}]*)?\\} \\} ");
    static final Pattern REFUSED = form(" \\{ 'code' : -1 , 'msg' : '([^']*)' , 'data' : [^{}]*\\} ");
    static final Pattern CLOCK = Pattern.compile("timestamp: .* of (\\d{10}), Unix seconds.*");

    // This client follows no redirect. By default it would ask for HTTP/2, and might send a call a second time.
    static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** With an error, the other fields have what came before it. */
    record Answer(int status, HttpHeaders headers, String body, String error) {}

    public static void main(String[] args) throws Exception {
        String key = args.length > 0 ? args[0] : UUID.randomUUID().toString();
        String[][] settings = {
            {"BASE_URL", System.getenv("BASE_URL"), "https?://[\\[\\]0-9A-Za-z.:-]+(/[0-9A-Za-z._~-]+)*"},
            {"APPID", System.getenv("APPID"), "[0-9A-Za-z_-]+"},
            {"SECRET", System.getenv("SECRET"), "[ -~]+"},
            {"AGENT_ID", System.getenv("AGENT_ID"), "[1-9][0-9]{0,14}(,[1-9][0-9]{0,14})*"},
            {"Idempotency-Key", key, "[!-~]{1,255}"},
        };
        for (String[] each : settings) {
            boolean isRight = each[1] != null && each[1].matches(each[2]);
            if (!isRight) end(each[0] + " is missing or wrong: it must match " + each[2]);
        }
        Long offset = null; // how far this machine's clock is off, once the service has refused its time
        for (int tries = 1; ; tries++) {
            Answer answer = post(key, now() + (offset == null ? 0 : offset));
            String error = answer.error();
            int status = answer.status();
            Matcher accepted = ACCEPTED.matcher(answer.body());
            if (status == 200 && accepted.matches()) {
                System.out.println(accepted.group(1));
                System.exit(0);
            }
            Matcher refused = REFUSED.matcher(answer.body());
            boolean isRefusal = refused.matches();
            String detail = answer.headers().firstValue("x-error-detail").orElse("");
            String retryAfter = String.join(", ", answer.headers().allValues("Retry-After"));
            String location = answer.headers().firstValue("Location").map(to -> ", a redirect to " + to + ", which is not followed").orElse("");
            String id = answer.headers().firstValue("x-request-id").map(text -> ", x-request-id " + text).orElse("");
            String what = (error != null ? "no answer: " + error
                : isRefusal ? "refused: " + refused.group(1) + (detail.isEmpty() ? "" : " (" + detail + ")")
                : "not an answer of this service: HTTP " + status + location) + "; Idempotency-Key " + key + id;

            Matcher clock = CLOCK.matcher(detail);
            if (isRefusal && offset == null && tries < 3 && clock.matches()) {
                offset = Long.parseLong(clock.group(1)) - now();
                continue;
            }
            // When every refusal has status 200, Retry-After shows that another try may help. Ask the operator after the service's own 500.
            boolean again = error != null || status == 408 || status == 429 || status == 200 && isRefusal && !retryAfter.isEmpty()
                || status >= 500 && !(status == 500 && isRefusal);
            if (!again) end(what);
            if (tries == 3) end("gave up after 3 tries: " + what);
            double pause = retryAfter.isEmpty() ? 0 : secondsOf(retryAfter);
            if (pause > 60) end("gave up, because Retry-After is " + retryAfter + ": " + what);
            Thread.sleep((long) (pause * 1000) + ThreadLocalRandom.current().nextInt(1000, 3000));
        }
    }

    /** Makes one try, signed anew: at most 10 s until the body's end, and at most 64 KiB. */
    static Answer post(String key, long timestamp) throws Exception {
        String agents = System.getenv("AGENT_ID");
        // Java brings no JSON writer; with Jackson this is one writeValueAsBytes of a map.
        byte[] body = ("{"
            + "\"appid\":" + quote(System.getenv("APPID"))
            + ",\"timestamp\":" + timestamp
            + ",\"ranstr\":" + quote(UUID.randomUUID().toString())
            + ",\"sbs\":" + quote("customer_001")
            + ",\"ip\":" + quote("203.0.113.7")
            + ",\"sbs_mc\":" + quote("\u738b\u4f1f")
            + ",\"content\":" + quote("\u6211\u7684\u8ba2\u5355\u5728\u54ea\u91cc\uff1f")
            + ",\"kefu_id\":[" + agents + "]"
            + ",\"fzr_uid\":" + agents.split(",")[0]
            + "}").getBytes(UTF_8);
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(System.getenv("SECRET").getBytes(UTF_8), "HmacSHA256"));

        // This runs in a thread, because HttpRequest.timeout() ends with the headers.
        AtomicReference<Answer> head = new AtomicReference<>(new Answer(0, HttpHeaders.of(Map.of(), (name, value) -> true), "", null));
        AtomicReference<InputStream> begun = new AtomicReference<>(InputStream.nullInputStream());
        FutureTask<String> exchange = new FutureTask<>(() -> {
            HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("BASE_URL") + "/openapi/chat/create_gd"))
                .header("Content-Type", "application/json")
                .header("Idempotency-Key", key)
                .header("x-chat-signature", HexFormat.of().formatHex(mac.doFinal(body)))
                .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                .build();
            HttpResponse<InputStream> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofInputStream());
            head.set(new Answer(answer.statusCode(), answer.headers(), "", null));
            begun.set(answer.body());
            try (InputStream bytes = answer.body()) {
                return new String(bytes.readNBytes(65536), UTF_8);
            }
        });
        Thread thread = new Thread(exchange);
        thread.setDaemon(true);
        thread.start();
        String text = "";
        String error = null;
        try {
            text = exchange.get(10, TimeUnit.SECONDS);
        } catch (TimeoutException late) {
            error = "nothing whole in 10 s";
        } catch (ExecutionException failed) {
            error = failed.getCause().toString();
        } finally {
            exchange.cancel(true);
            begun.get().close(); // because cancel() does not end the wait for a body
        }
        return new Answer(head.get().status(), head.get().headers(), text, error);
    }

    static Pattern form(String text) {
        return Pattern.compile(text.replace(" ", "\\s*").replace('\'', '"'));
    }

    static long now() {
        return Instant.now().getEpochSecond();
    }

    /** Retry-After in seconds. The longest of several values counts. A value that is no number counts as too long. */
    static double secondsOf(String retryAfter) {
        double longest = 0;
        for (String text : retryAfter.split(",", -1)) {
            boolean isNumber = text.strip().matches("\\d+(\\.\\d*)?");
            longest = Math.max(longest, isNumber ? Double.parseDouble(text.strip()) : Double.POSITIVE_INFINITY);
        }
        return longest;
    }

    static void end(String line) {
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, UTF_8).println(line.replaceAll("\\p{Cc}+", " "));
        System.exit(1);
    }

    /** A text as a JSON string. */
    static String quote(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') json.append('\\').append(c);
            else if (c < ' ') json.append(String.format("\\u%04x", (int) c));
            else json.append(c);
        }
        return json.append('"').toString();
    }
}
