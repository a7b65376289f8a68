// Opens a session and prints its chat_id. Needs Go 1.16 or later and no module.
// An argument is the Idempotency-Key, for example an order's number.
//
//	BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 go run create-session.go
//
// Pitfalls of Go:
//   - Trailing newline: json.Encoder adds a newline, json.Marshal does not. Both are right, but sign and send the same bytes.
//   - \u escapes: both write <, > and & as \u003c, \u003e and \u0026, and leave Chinese text as it is. Compare bytes, not looks.
//   - Re-serialising: sign the []byte and send that []byte. A body that was decoded into a map and marshalled again has its keys
//     sorted, and its large numbers went through float64.
//   - Key order does not matter; a struct keeps the order of its fields.
//   - An optional field needs omitempty: "title":"" is refused. time.Now().Unix() gives the right seconds.
//   - net/http may send a request with an Idempotency-Key a second time with the same bytes, when a kept connection is closed. Their
//     ranstr may be used up: set request.Close.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"math/big"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type newSession struct {
	Appid     string  `json:"appid"`
	Timestamp int64   `json:"timestamp"`
	Ranstr    string  `json:"ranstr"`
	Sbs       string  `json:"sbs"`
	IP        string  `json:"ip"`
	SbsMc     string  `json:"sbs_mc"`
	Content   string  `json:"content"`
	Title     string  `json:"title,omitempty"`
	KefuID    []int64 `json:"kefu_id"`
	FzrUID    int64   `json:"fzr_uid"`
}

// The envelope {"code":1 or -1,"msg":"…","data":…}. An answer that is not from this service has code 0 here.
type envelope struct {
	Code int             `json:"code"`
	Msg  *string         `json:"msg"`
	Data json.RawMessage `json:"data"` // an object on success, "" on failure
}

// Makes one try, signed anew: at most 10 s until the body's end, and at most 64 KiB. With an error it returns what came before it.
func post(agents []int64, key string, timestamp int64) (int, http.Header, envelope, error) {
	body, err := json.Marshal(newSession{
		Appid:     os.Getenv("APPID"),
		Timestamp: timestamp,
		Ranstr:    randomHex(),
		Sbs:       "customer_001",
		IP:        "203.0.113.7",
		SbsMc:     "王伟",
		Content:   "我的订单在哪里？",
		KefuID:    agents,
		FzrUID:    agents[0],
	})
	check(err)
	mac := hmac.New(sha256.New, []byte(os.Getenv("SECRET")))
	mac.Write(body)

	limit, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	url := os.Getenv("BASE_URL") + "/openapi/chat/create_gd"
	request, err := http.NewRequestWithContext(limit, "POST", url, bytes.NewReader(body))
	check(err)
	request.Close = true
	request.Header.Set("Accept-Encoding", "identity") // by default it asks for gzip
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("x-chat-signature", hex.EncodeToString(mac.Sum(nil)))
	// http.Client would follow redirects, and would report a redirect that it cannot read as no answer.
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, http.Header{}, envelope{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 65536))
	if err != nil {
		return answer.StatusCode, answer.Header, envelope{}, err
	}
	var read envelope
	if json.Unmarshal(text, &read) != nil || read.Msg == nil || (read.Code != 1 && read.Code != -1) {
		return answer.StatusCode, answer.Header, envelope{}, nil
	}
	return answer.StatusCode, answer.Header, read, nil
}

// Retry-After in seconds. The longest of several values counts. A value that is no number counts as too long.
func secondsOf(retryAfter string) float64 {
	longest := 0.0
	for _, text := range strings.Split(retryAfter, ",") {
		seconds := math.Inf(1)
		if number.MatchString(strings.TrimSpace(text)) {
			seconds, _ = strconv.ParseFloat(strings.TrimSpace(text), 64)
		}
		longest = math.Max(longest, seconds)
	}
	return longest
}

var (
	number  = regexp.MustCompile(`^\d+(\.\d*)?$`)
	refused = regexp.MustCompile(`^timestamp: .* of (\d{10}), Unix seconds`)
	control = regexp.MustCompile(`\pC+`)
)

func main() {
	log.SetFlags(0)

	key := randomHex()
	if len(os.Args) > 1 {
		key = os.Args[1]
	}
	for _, each := range [][3]string{
		{"BASE_URL", os.Getenv("BASE_URL"), `https?://[\[\]0-9A-Za-z.:-]+(/[0-9A-Za-z._~-]+)*`},
		{"APPID", os.Getenv("APPID"), `[0-9A-Za-z_-]+`},
		{"SECRET", os.Getenv("SECRET"), `[ -~]+`},
		{"AGENT_ID", os.Getenv("AGENT_ID"), `[1-9][0-9]{0,14}(,[1-9][0-9]{0,14})*`},
		{"Idempotency-Key", key, `[!-~]{1,255}`},
	} {
		if !regexp.MustCompile(`^(` + each[2] + `)$`).MatchString(each[1]) {
			log.Fatal(each[0] + " is missing or wrong: it must match " + each[2])
		}
	}
	var agents []int64
	for _, text := range strings.Split(os.Getenv("AGENT_ID"), ",") {
		agent, err := strconv.ParseInt(text, 10, 64)
		check(err)
		agents = append(agents, agent)
	}

	var offset int64 // how far this machine's clock is off, once the service has refused its time
	corrected := false
	for tries := 1; ; tries++ {
		status, header, envelope, err := post(agents, key, time.Now().Unix()+offset)
		var data struct {
			ChatID *int64 `json:"chat_id"`
		}
		if status == 200 && envelope.Code == 1 && json.Unmarshal(envelope.Data, &data) == nil && data.ChatID != nil {
			fmt.Println(*data.ChatID)
			return
		}
		detail, retryAfter := header.Get("x-error-detail"), strings.Join(header.Values("Retry-After"), ", ")
		what := fmt.Sprintf("not an answer of this service: HTTP %d", status)
		if err != nil {
			what = fmt.Sprintf("no answer: %v", err)
		} else if envelope.Code == -1 {
			what = "refused: " + *envelope.Msg
			if detail != "" {
				what += " (" + detail + ")"
			}
		} else if header.Get("Location") != "" {
			what += ", a redirect to " + header.Get("Location") + ", which is not followed"
		}
		end := func(why string) {
			line := why + what + "; Idempotency-Key " + key
			if id := header.Get("x-request-id"); id != "" {
				line += ", x-request-id " + id
			}
			log.Fatal(control.ReplaceAllString(line, " "))
		}

		told := refused.FindStringSubmatch(detail)
		if envelope.Code == -1 && told != nil && !corrected && tries < 3 {
			now, err := strconv.ParseInt(told[1], 10, 64)
			check(err)
			offset, corrected = now-time.Now().Unix(), true
			continue
		}
		// When every refusal has status 200, Retry-After shows that another try may help. Ask the operator after the service's own 500.
		again := err != nil || status == 408 || status == 429 || (status == 200 && envelope.Code == -1 && retryAfter != "") ||
			(status >= 500 && !(status == 500 && envelope.Code == -1))
		if !again {
			end("")
		}
		if tries == 3 {
			end("gave up after 3 tries: ")
		}
		pause := 0.0
		if retryAfter != "" {
			pause = secondsOf(retryAfter)
		}
		if pause > 60 {
			end("gave up, because Retry-After is " + retryAfter + ": ")
		}
		jitter, err := rand.Int(rand.Reader, big.NewInt(2000))
		check(err)
		time.Sleep(time.Duration(pause*1000+1000)*time.Millisecond + time.Duration(jitter.Int64())*time.Millisecond)
	}
}

func randomHex() string {
	random := make([]byte, 16)
	_, err := rand.Read(random)
	check(err)
	return hex.EncodeToString(random)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
