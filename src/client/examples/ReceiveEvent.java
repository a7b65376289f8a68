// Receives events, stores each in a folder, prints its "id type seq", once. Needs Java 17 or later and no library. Put TLS in front.
//   SECRET=whsec_... PORT=8080 SEEN=/var/lib/events java ReceiveEvent.java
//
// Pitfalls of Java:
// - The raw body: take byte[] (in Spring @RequestBody byte[]), verify it, and parse it afterwards. An object that was mapped and written
//   again has other bytes.
// - The key is the decoded base64 after whsec_, not the text.
// - The time of equals and Arrays.equals shows how much is equal; the time of MessageDigest.isEqual does not.
// - System.currentTimeMillis() is milliseconds; webhook-timestamp is seconds.
// - com.sun.net.httpserver gives each request a thread and no deadline: limit the threads, and set sun.net.httpserver.maxReqTime.
// - A controller of Spring answers when it returns: hand the work to another thread, and return at once.

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

public class ReceiveEvent {
    // Java brings no JSON reader; the service writes type first, and seq first in data. With Jackson this is one readTree.
    static final Pattern EVENT = Pattern.compile("^\\{\"type\":\"([^\"]*)\".*?\"data\":\\{\"seq\":(\\d+)", Pattern.DOTALL);

    static final Pattern SECRET = Pattern.compile("whsec_(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?");

    // An unverified request may come from anybody, so its size is limited. An event comes from one call, which has at most 64 KiB.
    static final int MOST_BYTES = 256 * 1024;
    static final int MOST_SECONDS = 10;
    static final int MOST_CONNECTIONS = 1_000;

    static byte[] key;
    static Path folder;

    public static void main(String[] args) throws IOException {
        String secret = Optional.ofNullable(System.getenv("SECRET")).orElse("");
        if (!SECRET.matcher(secret).matches()) {
            System.err.println("SECRET must be whsec_ and base64 of at least 24 bytes");
            System.exit(1);
        }
        key = Base64.getDecoder().decode(secret.substring("whsec_".length()));
        String seen = System.getenv("SEEN");
        // Without SEEN the folder is a new one, so a restart forgets the stored events.
        folder = seen == null || seen.isEmpty() ? Files.createTempDirectory("events-") : Path.of(seen);
        int port = Integer.parseInt(Optional.ofNullable(System.getenv("PORT")).orElse("8080"));
        // The server reads these settings when it is created. A half-sent request keeps a thread until its time is over.
        System.setProperty("sun.net.httpserver.maxReqTime", String.valueOf(MOST_SECONDS));
        System.setProperty("jdk.httpserver.maxConnections", String.valueOf(MOST_CONNECTIONS));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), MOST_CONNECTIONS);
        server.setExecutor(Executors.newFixedThreadPool(MOST_CONNECTIONS));
        server.createContext("/", ReceiveEvent::receive);
        server.start();
    }

    static void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            // One request for each connection.
            exchange.getResponseHeaders().set("connection", "close");
            if (!exchange.getRequestMethod().equals("POST")) {
                exchange.getResponseHeaders().set("allow", "POST");
                // The answer to HEAD has no body.
                exchange.sendResponseHeaders(405, -1);
                return;
            }
            byte[] body = exchange.getRequestBody().readNBytes(MOST_BYTES + 1);
            if (body.length > MOST_BYTES) {
                answer(exchange, 413, "too large");
                return;
            }
            String why = fault(exchange.getRequestHeaders(), body);
            if (why != null) {
                System.err.println("refused: " + why);
                answer(exchange, 400, why);
                return;
            }
            String id = exchange.getRequestHeaders().getFirst("webhook-id");
            boolean isNew;
            try {
                isNew = store(id, body);
            } catch (IOException error) {
                System.err.println("not stored: " + error);
                answer(exchange, 503, "not stored");
                return;
            }
            // Finish your answer before you start the work: without an answer in 15 s, the event is sent again. Answer a
            // duplicate and an unknown type with 2xx too.
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
            if (isNew) work(id, body);
        }
    }

    static void work(String id, byte[] body) {
        Matcher event = EVENT.matcher(new String(body, UTF_8));
        if (event.find()) System.out.println(id + " " + event.group(1) + " " + event.group(2));
        else System.err.println(id + " is no event");
    }

    static void answer(HttpExchange exchange, int status, String why) throws IOException {
        byte[] text = why.getBytes(UTF_8);
        exchange.sendResponseHeaders(status, text.length);
        exchange.getResponseBody().write(text);
    }

    /**
     * Stores an event and its id in one step: the id is the name of the linked file. With a database, this is one INSERT with the id as the
     * key. Throws when the event was not stored. Only an id that exists is a duplicate.
     *
     * @return whether the event is new
     */
    static boolean store(String id, byte[] body) throws IOException {
        Path written = Files.createTempFile(folder, id, null);
        try {
            Files.write(written, body);
            Files.createLink(folder.resolve(id + ".json"), written);
            return true;
        } catch (FileAlreadyExistsException duplicate) {
            return false;
        } finally {
            written.toFile().delete();
        }
    }

    /** Why this request must be refused; null for a request of the service. */
    static String fault(Headers headers, byte[] body) {
        String id = headers.getOrDefault("webhook-id", List.of("")).get(0);
        String timestamp = headers.getOrDefault("webhook-timestamp", List.of("")).get(0);
        String signatures = headers.getOrDefault("webhook-signature", List.of("")).get(0);
        if (id.isEmpty() || timestamp.isEmpty() || signatures.isEmpty()) return "a header is missing";
        if (!id.matches("[\\w-]{1,100}")) return "no id of the service";
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
        // There are two signatures while the secret is being rotated.
        for (String signature : signatures.split(" ")) {
            if (MessageDigest.isEqual(signature.getBytes(UTF_8), expected)) return null;
        }
        return "wrong signature";
    }
}
