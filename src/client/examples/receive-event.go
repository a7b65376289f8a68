// Receives events, stores each in a folder, prints its "id type seq", once. Needs Go 1.16 or later and no module. Put TLS in front.
//
//	go build -o receive-event receive-event.go && SECRET=whsec_… PORT=8080 SEEN=/var/lib/events ./receive-event
//
// Pitfalls of Go:
//   - The raw body can be read only once: read it, verify it, and decode those bytes. Marshalling it again sorts the keys of maps.
//   - The key is the decoded base64 after whsec_, not the text.
//   - The time of == and bytes.Equal shows how much is equal; the time of hmac.Equal does not.
//   - Numbers in an interface{} are float64: decode into a struct.
//   - A server of net/http waits for ever unless ReadTimeout is set, and does not limit connections.
//   - go run does not pass SIGTERM to the program: run the program that go build makes.
//   - The answer waits in a buffer until the handler returns: work in a goroutine, and return at once.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An unverified request may come from anybody, so its size is limited. An event comes from one call, which has at most 64 KiB.
const (
	mostBytes       = 256 << 10
	mostHeaderBytes = 16 << 10
	mostTime        = 10 * time.Second
	mostConnections = 200
)

var idOfTheService = regexp.MustCompile(`^[\w-]{1,100}$`)

func main() {
	log.SetFlags(0)
	secret := os.Getenv("SECRET")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || !strings.HasPrefix(secret, "whsec_") {
		log.Fatal("SECRET must be whsec_ and base64 of at least 24 bytes")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	folder := os.Getenv("SEEN")
	if folder == "" {
		// The folder is a new one, so a restart forgets the stored events.
		if folder, err = os.MkdirTemp("", "events-"); err != nil {
			log.Fatal(err)
		}
	}

	receive := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("allow", "POST")
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		if r.ContentLength > mostBytes {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, mostBytes+1))
		if err != nil {
			http.Error(w, "the body did not come", http.StatusRequestTimeout)
			return
		}
		if len(body) > mostBytes {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		if why := fault(key, r.Header, body); why != "" {
			log.Print("refused: ", why)
			http.Error(w, why, http.StatusBadRequest)
			return
		}
		id := r.Header.Get("webhook-id")
		isNew, err := store(folder, id, body)
		if err != nil {
			log.Print("not stored: ", err)
			http.Error(w, "not stored", http.StatusServiceUnavailable)
			return
		}
		// Finish your answer before you start the work: without an answer in 15 s, the event is sent again. Answer a duplicate
		// and an unknown type with 2xx too. The answer ends when this function returns.
		w.WriteHeader(http.StatusNoContent)
		if isNew {
			go work(id, body)
		}
	}
	server := http.Server{
		Addr:           "127.0.0.1:" + port,
		Handler:        http.HandlerFunc(receive),
		ReadTimeout:    mostTime,
		WriteTimeout:   2 * mostTime,
		MaxHeaderBytes: mostHeaderBytes,
		ConnState:      (&connections{}).changed,
	}
	// One request for each connection.
	server.SetKeepAlivesEnabled(false)
	log.Fatal(server.ListenAndServe())
}

// connections has the open connections, the oldest first. A new one closes the oldest, so that half-sent requests keep nobody out.
type connections struct {
	lock sync.Mutex
	open []net.Conn
}

func (c *connections) changed(connection net.Conn, state http.ConnState) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if state == http.StateNew {
		c.open = append(c.open, connection)
	}
	if len(c.open) > mostConnections {
		c.open[0].Close()
		c.open = c.open[1:]
	}
	if state == http.StateClosed {
		for i := range c.open {
			if c.open[i] == connection {
				c.open = append(c.open[:i], c.open[i+1:]...)
				break
			}
		}
	}
}

func work(id string, body []byte) {
	var event struct {
		Type string `json:"type"`
		Data struct {
			Seq *int64 `json:"seq"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil || event.Data.Seq == nil {
		log.Print(id, " is no event")
		return
	}
	fmt.Println(id, event.Type, *event.Data.Seq)
}

// store stores an event and its id in one step: the id is the name of the linked file. With a database, this is one INSERT with the id
// as the key. It says whether the event is new. An id that exists is a duplicate; any other failure is an error.
func store(folder, id string, body []byte) (bool, error) {
	written, err := os.CreateTemp(folder, id+".*")
	if err != nil {
		return false, err
	}
	defer os.Remove(written.Name())
	_, err = written.Write(body)
	if closed := written.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return false, err
	}
	err = os.Link(written.Name(), filepath.Join(folder, id+".json"))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// fault says why a request must be refused. The text is empty for a request of the service.
func fault(key []byte, header http.Header, body []byte) string {
	id, timestamp, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || timestamp == "" || signatures == "" {
		return "a header is missing"
	}
	if !idOfTheService.MatchString(id) {
		return "no id of the service"
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
	// There are two signatures while the secret is being rotated.
	for _, signature := range strings.Split(signatures, " ") {
		if hmac.Equal([]byte(signature), expected) {
			return ""
		}
	}
	return "wrong signature"
}
