package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"logstow/internal/price"
	"logstow/internal/test/await"
	"logstow/serve/limits"
	"logstow/serve/tailwatch"
	"logstow/store"
)

// wait asks for something that waits, and sends the status and body, or the error.
func (r *running) wait(ctx context.Context, secret string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, r.url+prefix+"query?do=wait", nil)
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := client().Do(req)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		answer <- fmt.Sprint(resp.StatusCode, " ", string(body), " ", err)
	}()
	return answer
}

// waitFor waits until the limits are in a state.
func (r *running) waitFor(t *testing.T, what string, is func(limits.State) bool) {
	t.Helper()
	await.Until(t, time.Minute, what, func() bool { return is(r.limits.State()) })
}

// As many queries as may run and wait do; the next has status 429 and a time to try again. What reads nothing needs no slot, and what
// reads only metadata has slots of its own.
func TestQueue(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.Limits.MaxQueries, o.Limits.MaxQueued = 2, 3 })
	var answers []<-chan string
	for range 5 {
		answers = append(answers, s.wait(t.Context(), ""))
	}
	s.waitFor(t, "full", func(l limits.State) bool { return l.Running[limits.Records] == 2 && l.Waiting[limits.Records] == 3 })
	for _, path := range []string{"query", "query_range", "detected_fields", "detected_field/x/values", "patterns", "unknown"} {
		resp, body := s.ask(t, http.MethodGet, prefix+path)
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "2" || !strings.Contains(body, "too many queries") {
			t.Errorf("%s: %d %s %v", path, resp.StatusCode, body, resp.Header)
		}
	}
	for _, path := range append([]string{prefix + "status/buildinfo", prefix + "format_query", prefix + "drilldown-limits", "/ready", "/metrics"}, ofMetadata()...) {
		if resp, body := s.ask(t, http.MethodGet, path); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if _, body := s.ask(t, http.MethodGet, "/metrics"); !strings.Contains(body, "logstow_queries_waiting 3\n") || !strings.Contains(body, `{reason="queue"} 6`) {
		t.Error("not in the metrics")
	}
	close(s.api.release)
	for _, a := range answers {
		if got := receive(t, a, "an answer"); got != "200 released <nil>" {
			t.Error(got)
		}
	}
	s.waitFor(t, "idle", func(l limits.State) bool { return l == limits.State{SpentToday: l.SpentToday} })
}

// ofMetadata are the paths that are answered without reading text.
func ofMetadata() (paths []string) {
	for _, name := range []string{
		"labels", "label", "label/x/values", "series", "detected_labels", "index/stats", "index/volume", "index/volume_range",
	} {
		paths = append(paths, prefix+name)
	}
	return append(paths, ownPrefix+"estimate")
}

// The scans of one token, which never end here and fill every place to wait, delay neither the metadata nor the scans of another.
func TestScansOfAnother(t *testing.T) {
	t.Parallel()
	s := start(t, withTokens(t), func(o *Options) { o.Limits.MaxQueries, o.Limits.MaxQueued = 4, 8 })
	var scans []<-chan string
	for range 11 {
		scans = append(scans, s.wait(t.Context(), allSecret))
	}
	s.waitFor(t, "full", func(l limits.State) bool { return l.Running[limits.Records] == 3 && l.Waiting[limits.Records] == 8 })
	for _, path := range ofMetadata() {
		for _, secret := range []string{webSecret, allSecret} {
			if resp, body := s.ask(t, http.MethodGet, path, bearer(secret)); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
		}
	}
	for range 20 {
		if resp, body := s.ask(t, http.MethodGet, prefix+"query", bearer(webSecret)); resp.StatusCode != http.StatusOK {
			t.Fatalf("a scan of another token: %d %s", resp.StatusCode, body)
		}
	}
	// A second scan of the other waits, in the place of one of the first token.
	answers := []<-chan string{s.wait(t.Context(), webSecret), s.wait(t.Context(), webSecret)}
	all := make(chan string, len(scans))
	for _, a := range scans {
		go func() { all <- <-a }()
	}
	if got := receive(t, all, "a rejection"); !strings.HasPrefix(got, "429 ") {
		t.Errorf("the first answer to the first token is %s", got)
	}
	close(s.api.release)
	for _, a := range answers {
		if got := receive(t, a, "an answer"); got != "200 released <nil>" {
			t.Error(got)
		}
	}
	for range len(scans) - 1 {
		if got := receive(t, all, "an answer"); got != "200 released <nil>" {
			t.Errorf("another scan of the first token is rejected: %s", got)
		}
	}
}

// A query that takes too long has status 504, whether the API answers or not.
func TestDuration(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.Limits.MaxDuration = 20 * time.Millisecond })
	for _, do := range []string{"wait", "nothing"} {
		if resp, body := s.ask(t, http.MethodGet, prefix+"query?do="+do); resp.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%s: %d %s", do, resp.StatusCode, body)
		}
	}
	if err := receive(t, s.api.ended, "the cause"); !errors.Is(err, limits.ErrDuration) {
		t.Error(err)
	}
}

// The API gets the limits of a query. When the day's budget is spent, queries have status 429 until midnight UTC.
func TestCost(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC)
	s := start(t, withTokens(t), func(o *Options) {
		o.Limits.MaxBytes, o.Limits.MaxCost, o.Limits.MaxCostPerDay, o.Limits.Now = 12345, 0.3, 1, func() time.Time { return now }
	})
	for _, want := range []string{"12345 0.3", "12345 0.3", "12345 0.25", "12345 0.125"} {
		if _, body := s.ask(t, http.MethodGet, prefix+"query?do=limits", bearer(shopSecret)); body != want {
			t.Errorf("limits %s, want %s", body, want)
		}
	}
	for _, path := range []string{"query", "labels", "tail"} {
		resp, body := s.ask(t, http.MethodGet, prefix+path, bearer(webSecret))
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "60" || !strings.Contains(body, "budget for today is spent") {
			t.Errorf("%s: %d %s %v", path, resp.StatusCode, body, resp.Header)
		}
	}
	if resp, _ := s.ask(t, http.MethodGet, prefix+"status/buildinfo", bearer(webSecret)); resp.StatusCode != http.StatusOK {
		t.Errorf("what reads nothing: %d", resp.StatusCode)
	}
}

// watchedTables are those of a store in which a shipper responds to each watch.
type watchedTables struct{}

func (watchedTables) Tables(context.Context, string) iter.Seq2[[]string, error] { panic("not needed") }

func (watchedTables) DropTable(context.Context, string) error { panic("not needed") }

func (watchedTables) Remove(context.Context, string, []store.Key) error { panic("not needed") }

func (watchedTables) CreateTable(context.Context, string) error            { return nil }
func (watchedTables) Upsert(context.Context, string, []store.Entity) error { return nil }

func (watchedTables) Query(_ context.Context, _ string, q store.Query) iter.Seq2[[]store.Entity, error] {
	e := store.Entity{Key: store.Key{Partition: q.Partition, Row: "shipper|a"}, Properties: map[string]any{"V": int64(1)}, Written: time.Now(), Read: time.Now()}
	return func(yield func([]store.Entity, error) bool) { yield([]store.Entity{e}, nil) }
}

// What shippers flush early for live tails counts: when it has spent the day's budget, requests have status 429.
func TestWatchCost(t *testing.T) {
	t.Parallel()
	watched := tailwatch.New(t.Context(), []tailwatch.Store{{Name: "logs", Container: "logs", Tables: watchedTables{}, Prices: &price.Table{Create: 1e6}}}, slog.New(slog.DiscardHandler))
	t.Cleanup(watched.Close)
	s := start(t, func(o *Options) { o.Watches, o.Limits.MaxCostPerDay = watched, 100 })
	if resp, body := s.ask(t, http.MethodGet, prefix+"query"); resp.StatusCode != http.StatusOK {
		t.Errorf("before: %d %s", resp.StatusCode, body)
	}
	tail := watched.Tail()
	tail.Watch([]string{"web"})
	defer tail.Close()
	await.Until(t, time.Minute, "the cost", func() bool { return watched.Cost() > 0 })
	for _, path := range []string{"query", "tail"} {
		resp, body := s.ask(t, http.MethodGet, prefix+path)
		if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "budget for today is spent") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if _, body := s.ask(t, http.MethodGet, "/metrics"); strings.Contains(body, "logstow_watch_cost_dollars_total 0\n") || !strings.Contains(body, "logstow_watch_cost_dollars_total ") {
		t.Error("no cost in the metrics")
	}
}

// When queries that run have reserved what is left of the day's budget, others have status 429, and try again in seconds.
func TestCostReserved(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.Limits.MaxCostPerDay = 1 })
	var answers []<-chan string
	for range 3 { // each costs 0.25, and the first had reserved 0.5
		answers = append(answers, s.wait(t.Context(), ""))
		receive(t, s.api.began, "a query")
	}
	resp, body := s.ask(t, http.MethodGet, prefix+"query")
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "2" || !strings.Contains(body, "reserved") {
		t.Errorf("%d %s %v", resp.StatusCode, body, resp.Header)
	}
	close(s.api.release)
	for _, a := range answers {
		receive(t, a, "an answer")
	}
	if resp, body := s.ask(t, http.MethodGet, prefix+"query"); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d %s", resp.StatusCode, body)
	}
}

// A client that goes ends its query, while that runs and while it waits, and no timeout is needed for that.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) {
		o.Limits.MaxQueries, o.Limits.MaxQueued = 1, 1
		o.times.header, o.times.read, o.times.idle, o.times.write = time.Hour, time.Hour, time.Hour, time.Hour
	})
	for _, request := range []string{
		"GET " + prefix + "query?do=wait HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST " + prefix + "query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\ndo=wait",
		"GET " + prefix + "query?do=wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
	} {
		c := s.raw(t)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		receive(t, s.api.began, "the query")
		waiting, cancel := context.WithCancel(t.Context())
		answer := s.wait(waiting, "")
		s.waitFor(t, "waiting", func(l limits.State) bool { return l.Waiting[limits.Records] == 1 })
		cancel()
		receive(t, answer, "the client's end")
		s.waitFor(t, "left", func(l limits.State) bool { return l.Waiting[limits.Records] == 0 && l.Running[limits.Records] == 1 })
		c.Close()
		if err := receive(t, s.api.ended, "the end of the query"); !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", request, err)
		}
		s.waitFor(t, "idle", func(l limits.State) bool { return l.Running[limits.Records] == 0 })
	}
}

// Tails have places of their own, and their end frees them.
func TestTails(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.Limits.MaxQueries, o.Limits.MaxQueued = 1, 2 })
	var open []*websocket.Conn
	for range 2 {
		c, _, err := s.dial(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		receive(t, s.api.began, "a tail")
	}
	resp, body := s.ask(t, http.MethodGet, prefix+"tail")
	if want := "too many live tails are open: --max-queued is the limit"; resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, want) {
		t.Errorf("a third: %d %q", resp.StatusCode, body)
	}
	if resp, _ := s.ask(t, http.MethodGet, prefix+"query"); resp.StatusCode != http.StatusOK {
		t.Errorf("a query beside them: %d", resp.StatusCode)
	}
	open[0].CloseNow()
	receive(t, s.api.ended, "the tail's end")
	s.waitFor(t, "one", func(l limits.State) bool { return l.Tails == 1 })
}

// A client that does not read its response is cut off, and its query ends.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.times.write = 100 * time.Millisecond })
	c := s.raw(t)
	if _, err := io.WriteString(c, "GET "+prefix+"query?do=large HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	receive(t, s.api.began, "the query")
	if err := receive(t, s.api.ended, "the end of the query"); err == nil {
		t.Error("everything was written")
	}
	if n, err := io.Copy(io.Discard, c); err == nil && n > 1<<29 {
		t.Errorf("%d bytes, %v", n, err)
	}
	s.waitFor(t, "idle", func(l limits.State) bool { return l.Running[limits.Records] == 0 })
}

// A client that reads slowly but steadily, and a query that takes longer than a write may, have their whole response.
func TestSteadyReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, dial := startInMemory(t)
		ask := func(do string) *bufio.Reader {
			c := dial()
			if _, err := io.WriteString(c, "GET "+prefix+"query?do="+do+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-s.api.began
			return bufio.NewReaderSize(c, writeChunk)
		}
		waiting := ask("wait")
		time.Sleep(10 * time.Minute)
		close(s.api.release)
		if got, err := io.ReadAll(waiting); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(string(got), "released") {
			t.Errorf("%q, %v", got, err)
		}
		if err := <-s.api.ended; err != nil {
			t.Errorf("the query ended: %v", err)
		}
		large := ask("large")
		for range 30 {
			time.Sleep(20 * time.Second)
			if _, err := large.Discard(writeChunk); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A client that sends its header or its body too slowly is cut off.
func TestSlowRequest(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) {
		o.times.header, o.times.read, o.times.idle = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	})
	for name, text := range map[string]string{
		"header": "GET /ready HTTP/1.1\r\nHost:",
		"body":   "POST " + prefix + "query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nquery=",
		"idle":   "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		c := s.raw(t)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) { // that is if the server has not read it all
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Bodies and headers have limits.
func TestRequestSize(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		bytes, want int
	}{{maxBody, 200}, {maxBody + 1, 413}, {4 * maxBody, 413}} {
		body := "query=shop&x=" + strings.Repeat("x", c.bytes-len("query=shop&x="))
		if resp, text := s.ask(t, http.MethodPost, prefix+"query", form(body)); resp.StatusCode != c.want {
			t.Errorf("%d bytes: %d %s", c.bytes, resp.StatusCode, text)
		}
	}
	closed := start(t, withTokens(t))
	if resp, _ := closed.ask(t, http.MethodPost, "/login", form("token="+strings.Repeat("x", maxLogin))); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long login: %d", resp.StatusCode)
	}
	c := s.raw(t)
	if _, err := io.WriteString(c, "GET /ready HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", maxHeader+8192)+"\r\n"); err != nil {
		t.Fatal(err)
	}
	status, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(status, strconv.Itoa(http.StatusRequestHeaderFieldsTooLarge)) {
		t.Errorf("%q %v", status, err)
	}
}

// The bodies of all requests have a limit together: one above it has status 429, and others are served. A request that ends makes
// space for the next.
func TestBodiesTogether(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := "query=shop&x=" + strings.Repeat("x", maxBody-len("query=shop&x="))
	var slow []net.Conn
	for range maxBodies / maxBody {
		c := s.raw(t)
		slow = append(slow, c)
		head := "POST " + prefix + "query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " + strconv.Itoa(maxBody) + "\r\n\r\n"
		if _, err := io.WriteString(c, head+body[1:]); err != nil { // all but its last byte
			t.Fatal(err)
		}
	}
	await.Until(t, time.Minute, "the bodies are read", func() bool { return s.bodies.Load() > maxBodies-maxBody/4 })
	if resp, text := s.ask(t, http.MethodPost, prefix+"query", form(body)); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", resp.StatusCode, text)
	}
	if resp, text := s.ask(t, http.MethodPost, prefix+"query", form("query=shop")); resp.StatusCode != http.StatusOK {
		t.Errorf("a small one: %d %s", resp.StatusCode, text)
	}
	for _, c := range slow {
		_ = c.Close()
	}
	await.Until(t, time.Minute, "the bodies are released", func() bool { return s.bodies.Load() == 0 })
	if resp, text := s.ask(t, http.MethodPost, prefix+"query", form(body)); resp.StatusCode != http.StatusOK {
		t.Errorf("the next: %d %s", resp.StatusCode, text)
	}
}

// Parameters that cannot be read are refused, and not taken as none.
func TestParameters(t *testing.T) {
	t.Parallel()
	s := start(t)
	for body, reason := range map[string]string{"query=%zz": `"%zz"`, "query=shop;limit=1": "semicolon"} {
		resp, text := s.ask(t, http.MethodPost, prefix+"query", form(body))
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, reason) {
			t.Errorf("body %s: %d %s", body, resp.StatusCode, text)
		}
		if resp, text = s.ask(t, http.MethodGet, prefix+"query?"+body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, reason) {
			t.Errorf("%s: %d %s", body, resp.StatusCode, text)
		}
	}
}

// Open connections are limited: further ones get a response, and those within the limit are served.
func TestConnections(t *testing.T) {
	t.Parallel()
	const limit = 2
	s := start(t, func(o *Options) { o.connections = limit })
	ask := func(c net.Conn) (status int, closes bool) {
		t.Helper()
		if _, err := io.WriteString(c, "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Close
	}
	var open []net.Conn
	for range limit {
		open = append(open, s.raw(t))
		ask(open[len(open)-1])
	}
	if status, closes := ask(s.raw(t)); status != http.StatusServiceUnavailable || !closes {
		t.Errorf("above the limit: status %d, close %v", status, closes)
	}
	if status, _ := ask(open[1]); status != http.StatusOK {
		t.Errorf("within the limit: status %d", status)
	}
	_ = open[0].Close()
	await.Until(t, time.Minute, "a connection is accepted", func() bool {
		status, _ := ask(s.raw(t))
		return status == http.StatusOK
	})
}
