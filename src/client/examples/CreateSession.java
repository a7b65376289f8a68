// Opens a session and prints its chat_id. Needs Java 17 or later and no library.
//   BASE_URL=https://... APPID=... SECRET=... AGENT_ID=10411,10427 java CreateSession.java
//
// Pitfalls of Java:
// - Charsets: getBytes() without one, and the compiler before Java 18, take the platform's. Name UTF_8 for the key and the body; the
//   Chinese text below is written in escapes, which the compiler turns into characters whatever it takes the file for.
// - Re-serialising: turn the body into bytes once, sign those bytes and send those bytes. A framework that is given an object (Spring's
//   RestTemplate, JAX-RS' Entity.json) writes it again, with null fields and another order.
// - \\u escapes in JSON (Gson writes < and ' that way) are as good as characters, as long as signed and sent are the same.
// - Key order does not matter. A body read from a file or a text block may end in a newline: it is signed too, or stripped first.
// - HexFormat gives lower-case hex of 64 digits; new BigInteger(1, mac).toString(16) drops leading zeros.
// - System.currentTimeMillis() is milliseconds; the timestamp is seconds.

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

public class CreateSession {
    public static void main(String[] args) throws Exception {
        String agents = System.getenv("AGENT_ID");

        // Java brings no JSON writer; with Jackson this is one writeValueAsBytes of a map.
        byte[] body = ("{"
            + "\"appid\":" + quote(System.getenv("APPID"))
            + ",\"timestamp\":" + Instant.now().getEpochSecond()
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
        String signature = HexFormat.of().formatHex(mac.doFinal(body));

        HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("BASE_URL") + "/openapi/chat/create_gd"))
            .timeout(Duration.ofSeconds(10))
            .header("Content-Type", "application/json")
            .header("x-chat-signature", signature)
            .POST(HttpRequest.BodyPublishers.ofByteArray(body))
            .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString(UTF_8));

        Matcher accepted = Pattern.compile("^\\{\"code\":1,.*\"chat_id\":(\\d+)").matcher(answer.body());
        if (accepted.find()) {
            System.out.println(accepted.group(1));
            return;
        }
        Matcher message = Pattern.compile("\"msg\":\"([^\"]*)\"").matcher(answer.body());
        String detail = answer.headers().firstValue("x-error-detail").map(text -> " (" + text + ")").orElse("");
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, UTF_8)
            .println("refused: " + (message.find() ? message.group(1) : answer.body()) + detail);
        System.exit(1);
    }

    /** A JSON string. */
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
