// Receives events, prints "id type seq" of each, once. Needs Go 1.16 or later and no module. Put TLS in front of it.
//
//	SECRET=whsec_… PORT=8080 go run receive-event.go
//
// Pitfalls of Go:
//   - The raw body can be read once: read it, verify it, and decode those bytes. Marshalling it again sorts the keys of maps.
//   - The key is the decoded base64 after whsec_, not the text.
//   - == and bytes.Equal compare in a time that tells how much is right; hmac.Equal does not.
//   - Numbers in an interface{} are float64: decode into a struct.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	log.SetFlags(0)
	secret := os.Getenv("SECRET")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 || !strings.HasPrefix(secret, "whsec_") {
		log.Fatal("SECRET must be whsec_ and base64")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}

	// In memory, for brevity. Keep the ids in your database, in the transaction that stores the event: then a restart forgets none.
	var seen sync.Map

	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1_000_000))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		if why := fault(key, r.Header, body); why != "" {
			log.Print("refused: ", why)
			http.Error(w, why, http.StatusBadRequest)
			return
		}
		id := r.Header.Get("webhook-id")
		_, known := seen.LoadOrStore(id, true)
		// Store the event, answer, and only then work on it: after 15 s without an answer it is sent again. A duplicate and an
		// unknown type get a 2xx too.
		w.WriteHeader(http.StatusNoContent)
		if known {
			return
		}
		var event struct {
			Type string `json:"type"`
			Data struct {
				Seq int64 `json:"seq"`
			} `json:"data"`
		}
		if err := json.Unmarshal(body, &event); err != nil {
			log.Print(err)
			return
		}
		fmt.Println(id, event.Type, event.Data.Seq)
	}
	server := http.Server{
		Addr:        "127.0.0.1:" + port,
		Handler:     http.HandlerFunc(receive),
		ReadTimeout: 10 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}

// fault says why a request must not be believed, and nothing of one of the service's.
func fault(key []byte, header http.Header, body []byte) string {
	id, timestamp, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || timestamp == "" || signatures == "" {
		return "a header is missing"
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	away := time.Now().Unix() - seconds
	if err != nil || away > 300 || away < -300 {
		return "too old, or from the future"
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// There are two while the secret is being rotated.
	for _, signature := range strings.Split(signatures, " ") {
		if hmac.Equal([]byte(signature), expected) {
			return ""
		}
	}
	return "wrong signature"
}
