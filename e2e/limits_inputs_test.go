package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// The limits of network inputs that docs/limits.md states.
const (
	receiveMemory      = 56 << 20
	receiveRequest     = 16 << 20
	receiveEvents      = 128 << 20
	receiveConnections = 8 // as configured by the test
	metricsConnections = 64
	forwardMessageTime = time.Minute
	gelfChunkTime      = 5 * time.Second
	dedupeKeys         = 100_000
)

// receiving is a shipper with all network inputs.
type receiving struct {
	*rig
	*process
	http, forward, gelf, metrics string
	client                       *http.Client
}

// newReceiving starts one whose HTTP listener has a maximum number of connections.
func newReceiving(t *testing.T, connections int) *receiving {
	t.Helper()
	r := newRig(t, false)
	config := filepath.Join(r.root, "shipper.yaml")
	text := fmt.Sprintf(`
metrics: 127.0.0.1:0
inputs:
- {http: "127.0.0.1:0", service: crash, max-connections: %d}
- {forward: "127.0.0.1:0", service: crash}
- {gelf: "udp://127.0.0.1:0", service: crash}
`, connections)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := r.start(plain(), nil, "run", "--config", config, "--store", r.store, "--buffer-dir", r.buffer, "--flush-interval", "200ms")
	in := &receiving{rig: r, process: p, metrics: p.address(t, "serving metrics")}
	connected := &http.Transport{MaxIdleConnsPerHost: connections}
	t.Cleanup(connected.CloseIdleConnections)
	in.client = &http.Client{Transport: connected}
	for input, address := range map[string]*string{"http": &in.http, "forward": &in.forward, "gelf": &in.gelf} {
		*address = p.address(t, `listening","input":"`+input)
	}
	return in
}

// dial opens a connection that ends with the test.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout(network, address, patience) //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// post sends lines, and returns the status.
func (in *receiving) post(t *testing.T, body []byte, header ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+in.http+"/v1/lines", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := in.client.Do(r)
	if err != nil {
		t.Errorf("post %d bytes: %v", len(body), err)
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// gzipped are texts, compressed.
func gzipped(t *testing.T, texts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// One shipper with all network inputs keeps to the limits of each.
func TestReceiveLimits(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "opens all connections that it may")
	in := newReceiving(t, receiveConnections)
	t.Run("chunks", func(t *testing.T) { t.Parallel(); in.testChunks(t) })
	t.Run("slow message", func(t *testing.T) { t.Parallel(); in.testSlowMessage(t) })
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		t.Run("connections", in.testConnections)
		t.Run("request", in.testRequest)
		t.Run("memory", in.testMemory)
	})
	t.Run("events", func(t *testing.T) { t.Parallel(); in.testEvents(t) })
}

// testConnections opens as many idle connections as a listener may have: one more gets a response to retry. Those of metrics wait.
func (in *receiving) testConnections(t *testing.T) {
	var idle []net.Conn
	for range receiveConnections {
		idle = append(idle, dial(t, "tcp", in.http))
	}
	await.Until(t, patience, "one more is rejected", func() bool {
		return in.post(t, []byte("rejected\n"), "Connection", "close") == http.StatusServiceUnavailable
	})
	for _, c := range idle {
		_ = c.Close()
	}
	await.Until(t, patience, "the connections are closed", func() bool { return in.post(t, []byte("connections\n")) == http.StatusNoContent })
	idle = nil
	for range metricsConnections {
		idle = append(idle, dial(t, "tcp", in.metrics))
	}
	await.Until(t, patience, "one more is rejected", func() bool {
		status, _ := get(t, "http://"+in.metrics+"/healthz")
		return status == http.StatusServiceUnavailable
	})
	for _, c := range idle[1:] {
		_ = c.Close()
	}
	await.Until(t, patience, "one fewer is answered", func() bool {
		status, _ := get(t, "http://"+in.metrics+"/healthz")
		return status == http.StatusOK
	})
}

// testRequest sends requests that have as many bytes as they may after decompression, and one more.
func (in *receiving) testRequest(t *testing.T) {
	line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
	for size, want := range map[int]int{receiveRequest: http.StatusNoContent, receiveRequest + 1: http.StatusRequestEntityTooLarge} {
		body := bytes.Repeat(line, size/len(line)+1)[:size]
		if status := in.post(t, gzipped(t, body), "Content-Encoding", "gzip"); status != want {
			t.Errorf("%d bytes compressed: status %d, want %d", size, status, want)
		}
	}
}

// testMemory sends requests of 15 MiB, without their last bytes: those that do not fit are rejected at once. Then it ends the others,
// one after the other.
func (in *receiving) testMemory(t *testing.T) {
	const size, senders = 15 << 20, receiveConnections - 1
	body := bytes.Repeat(append(bytes.Repeat([]byte("x"), 1<<10-1), '\n'), size>>10)
	isRejected := func(answer string) bool {
		return answer == "" || strings.HasPrefix(answer, "HTTP/1.1 429 ") || strings.HasPrefix(answer, "HTTP/1.1 503 ") // "" is if the connection was reset
	}
	var rejected, accepted atomic.Int64
	var sent, all sync.WaitGroup
	var ending sync.Mutex
	finish := make(chan struct{})
	for range senders {
		sent.Add(1)
		all.Go(func() {
			c := dial(t, "tcp", in.http)
			head := "POST /v1/lines HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(size) + "\r\n\r\n"
			_, _ = c.Write(append([]byte(head), body[:size-1]...)) // fails if the request is rejected meanwhile
			answered := make(chan string, 1)
			go func() {
				answer, _ := io.ReadAll(c)
				answered <- string(answer)
			}()
			sent.Done()
			answer := ""
			select {
			case answer = <-answered:
			case <-finish:
				ending.Lock()
				defer ending.Unlock()
				_, _ = c.Write(body[size-1:])
				answer = <-answered
			}
			switch {
			case strings.HasPrefix(answer, "HTTP/1.1 204 "):
				accepted.Add(1)
			case isRejected(answer):
				rejected.Add(1)
			default:
				t.Errorf("answered %.200q", answer)
			}
		})
	}
	sent.Wait()
	const fit = receiveMemory / size
	await.Until(t, patience, "those that do not fit are rejected", func() bool { return rejected.Load() >= senders-fit })
	close(finish)
	all.Wait()
	t.Logf("%d of %d senders of %d MiB were rejected", rejected.Load(), senders, size>>20)
	if accepted.Load() == 0 || accepted.Load() > fit {
		t.Errorf("%d senders were accepted, %d rejected", accepted.Load(), rejected.Load())
	}
}

// As many requests with keys are recognized as stated: one of them when it is repeated, and the first one not after more of them.
// Keys are forgotten by pages, of which each sender fills one.
func TestDedupeKeys(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "100,000 requests")
	const senders, last = 128, dedupeKeys + 128*16
	in := newReceiving(t, 2*senders)
	send := func(key int) int {
		return in.post(t, fmt.Appendf(nil, "key %d\n", key), "Idempotency-Key", strconv.Itoa(key))
	}
	send(0)
	var next atomic.Int64
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for key := next.Add(1); key <= last; key = next.Add(1) {
				if status := send(int(key)); status != http.StatusNoContent {
					t.Errorf("key %d: status %d", key, status)
					return
				}
			}
		})
	}
	all.Wait()
	const recent = last - dedupeKeys*9/10
	for _, key := range []int{recent, 0} {
		if status := send(key); status != http.StatusNoContent {
			t.Errorf("key %d again: status %d", key, status)
		}
	}
	if n := metric(t, in.metrics, `logstow_input_repeated_requests_total{address="127.0.0.1:0",input="http",service="crash"}`); n != 1 {
		t.Errorf("%.0f requests were recognized, want only that with the recent key", n)
	}
}

// testEvents sends compressed messages of Fluent Forward with as many bytes of events as they may have, and more.
func (in *receiving) testEvents(t *testing.T) {
	effort.Need(t, effort.Full, "256 MiB of events")
	text := bytes.Repeat([]byte("x"), 1<<20-64)
	event := append(binary.BigEndian.AppendUint32([]byte("\x92\x01\x81\xa3log\xdb"), uint32(len(text))), text...)
	for events, accepted := range map[int]bool{receiveEvents / len(event): true, receiveEvents/len(event) + 1: false} {
		var all [][]byte
		for range events {
			all = append(all, event)
		}
		packed := gzipped(t, all...)
		message := append(binary.BigEndian.AppendUint32([]byte("\x93\xa1a\xc6"), uint32(len(packed))), packed...)
		message = append(message, "\x82\xaacompressed\xa4gzip\xa5chunk\xa1c"...)
		c := dial(t, "tcp", in.forward)
		if _, err := c.Write(message); err != nil {
			t.Fatal(err)
		}
		var ack [6]byte
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if n, err := io.ReadFull(c, ack[:]); (err == nil) != accepted {
			t.Errorf("%d events: %d bytes of a response, %v", events, n, err)
		}
	}
}

// testSlowMessage sends the beginning of a message of Fluent Forward.
func (in *receiving) testSlowMessage(t *testing.T) {
	effort.Need(t, effort.Full, "a minute")
	c, began := dial(t, "tcp", in.forward), time.Now()
	if _, err := c.Write([]byte("\x92\xa1a")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	if took := time.Since(began); took < forwardMessageTime-time.Second || took > forwardMessageTime+serveTimeAbove {
		t.Errorf("closed after %v", took)
	} else {
		t.Logf("closed after %v", took)
	}
}

// testChunks sends the second chunk of GELF messages before and after the time that they may take.
func (in *receiving) testChunks(t *testing.T) {
	c := dial(t, "udp", in.gelf)
	send := func(id byte, number int, text string) {
		if _, err := c.Write(append([]byte{0x1e, 0x0f, 0, 0, 0, 0, 0, 0, 0, id, byte(number), 2}, text...)); err != nil {
			t.Fatal(err)
		}
	}
	message := func(id byte) (string, string) {
		return `{"version":"1.1","host":"a","short_mes`, fmt.Sprintf(`sage":"chunks of %d"}`, id)
	}
	one, two := message(1)
	send(1, 0, one)
	time.Sleep(gelfChunkTime - 2*time.Second) // within the time
	send(1, 1, two)
	one, two = message(2)
	send(2, 0, one)
	time.Sleep(gelfChunkTime + time.Second) // beyond it
	send(2, 1, two)
	one, two = message(3) // follows the others
	send(3, 0, one)
	send(3, 1, two)
	var got string
	await.Until(t, patience, "the last message is stored", func() bool {
		got = string(in.must(t, "logq", "query", "-s", "crash", "--since", "1h", "-o", "raw", "chunks of"))
		return strings.Contains(got, "chunks of 3")
	})
	if !strings.Contains(got, "chunks of 1") || strings.Contains(got, "chunks of 2") {
		t.Errorf("stored:\n%s", got)
	}
}
