// Receives events, prints "id type seq" of each, once. Needs Java 17 or later and no library. Put TLS in front of it.
//   SECRET=whsec_... PORT=8080 java ReceiveEvent.java
//
// Pitfalls of Java:
// - The raw body: take byte[] (in Spring @RequestBody byte[]), verify it, parse it afterwards. An object that was mapped and written
//   again has other bytes.
// - The key is the decoded base64 after whsec_, not the text.
// - equals and Arrays.equals compare in a time that tells how much is right; MessageDigest.isEqual does not.
// - System.currentTimeMillis() is milliseconds; webhook-timestamp is seconds.

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

public class ReceiveEvent {
    // Java brings no JSON reader; the service writes type first, and seq first in data. With Jackson this is one readTree.
    static final Pattern EVENT = Pattern.compile("^\\{\"type\":\"([^\"]*)\".*?\"data\":\\{\"seq\":(\\d+)", Pattern.DOTALL);

    // In memory, for brevity. Keep the ids in your database, in the transaction that stores the event: then a restart forgets none.
    static final Set<String> SEEN = ConcurrentHashMap.newKeySet();

    static byte[] key;

    public static void main(String[] args) throws IOException {
        String secret = Optional.ofNullable(System.getenv("SECRET")).orElse("");
        if (!secret.startsWith("whsec_")) throw new IllegalArgumentException("SECRET must be whsec_ and base64");
        key = Base64.getDecoder().decode(secret.substring("whsec_".length()));
        int port = Integer.parseInt(Optional.ofNullable(System.getenv("PORT")).orElse("8080"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", ReceiveEvent::receive);
        server.start();
    }

    static void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readNBytes(1_000_001);
            String why = body.length > 1_000_000 ? "too large" : fault(exchange.getRequestHeaders(), body);
            if (why != null) {
                System.err.println("refused: " + why);
                byte[] text = why.getBytes(UTF_8);
                exchange.sendResponseHeaders(400, text.length);
                exchange.getResponseBody().write(text);
                return;
            }
            String id = exchange.getRequestHeaders().getFirst("webhook-id");
            boolean isNew = SEEN.add(id);
            // Store the event, answer, and only then work on it: after 15 s without an answer it is sent again. A duplicate and an
            // unknown type get a 2xx too.
            exchange.sendResponseHeaders(204, -1);
            Matcher event = EVENT.matcher(new String(body, UTF_8));
            if (isNew && event.find()) System.out.println(id + " " + event.group(1) + " " + event.group(2));
        }
    }

    /** Why this request must not be believed; null for one of the service's. */
    static String fault(Headers headers, byte[] body) {
        String id = headers.getOrDefault("webhook-id", List.of("")).get(0);
        String timestamp = headers.getOrDefault("webhook-timestamp", List.of("")).get(0);
        String signatures = headers.getOrDefault("webhook-signature", List.of("")).get(0);
        if (id.isEmpty() || timestamp.isEmpty() || signatures.isEmpty()) return "a header is missing";
        if (!timestamp.matches("\\d{1,12}") || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > 300) {
            return "too old, or from the future";
        }
        byte[] expected;
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update((id + "." + timestamp + ".").getBytes(UTF_8));
            expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(UTF_8);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
        // There are two while the secret is being rotated.
        for (String signature : signatures.split(" ")) {
            if (MessageDigest.isEqual(signature.getBytes(UTF_8), expected)) return null;
        }
        return "wrong signature";
    }
}
