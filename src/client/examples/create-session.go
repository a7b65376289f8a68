// Opens a session and prints its chat_id. Needs Go 1.16 or later and no module.
//
//	BASE_URL=https://… APPID=… SECRET=… AGENT_ID=10411,10427 go run create-session.go
//
// Pitfalls of Go:
//   - Trailing newline: json.Encoder adds one, json.Marshal does not. Either is good; signing one and sending the other is not.
//   - \u escapes: both write <, > and & as \u003c, \u003e and \u0026, and leave Chinese text as it is. Compare bytes, not looks.
//   - Re-serialising: sign the []byte and send that []byte. A body that was decoded into a map and marshalled again has its keys
//     sorted, and its large numbers went through float64.
//   - Key order does not matter; a struct keeps the order of its fields.
//   - An optional field needs omitempty: "title":"" is refused. time.Now().Unix() is the seconds that are wanted.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
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

func main() {
	log.SetFlags(0)

	var agents []int64
	for _, text := range strings.Split(os.Getenv("AGENT_ID"), ",") {
		agent, err := strconv.ParseInt(text, 10, 64)
		check(err)
		agents = append(agents, agent)
	}
	random := make([]byte, 16)
	_, err := rand.Read(random)
	check(err)

	body, err := json.Marshal(newSession{
		Appid:     os.Getenv("APPID"),
		Timestamp: time.Now().Unix(),
		Ranstr:    hex.EncodeToString(random),
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

	request, err := http.NewRequest("POST", os.Getenv("BASE_URL")+"/openapi/chat/create_gd", bytes.NewReader(body))
	check(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("x-chat-signature", hex.EncodeToString(mac.Sum(nil)))
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Do(request)
	check(err)
	defer answer.Body.Close()

	// data is an object on success and "" on failure, so it is decoded only once code says which.
	var envelope struct {
		Code int             `json:"code"`
		Msg  string          `json:"msg"`
		Data json.RawMessage `json:"data"`
	}
	check(json.NewDecoder(answer.Body).Decode(&envelope))
	if envelope.Code != 1 {
		detail := answer.Header.Get("x-error-detail")
		if detail != "" {
			detail = " (" + detail + ")"
		}
		log.Fatalf("refused: %s%s", envelope.Msg, detail)
	}
	var data struct {
		ChatID int64 `json:"chat_id"`
	}
	check(json.Unmarshal(envelope.Data, &data))
	fmt.Println(data.ChatID)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
