package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	filedesc "logstow/internal/descriptors"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
)

// The limits of requests that docs/limits.md states for a server.
const (
	serveQueries, serveQueued          = 4, 32
	serveHeader, serveBody, serveLogin = 128 << 10, 1 << 20, 8 << 10
	serveBodies                        = 32 << 20
	serveHeaderTime, serveRequestTime  = 10 * time.Second, 30 * time.Second
	serveReadTime                      = 30 * time.Second
	serveConnections                   = 512
	serveTailRecords, serveTailMessage = 1000, 1 << 20
	serveTailLast                      = 300 << 10
	serveHeaderSlack                   = 4 << 10 // of net/http
	serveTimeBelow, serveTimeAbove     = 500 * time.Millisecond, 5 * time.Second
)

// host is the address of a server.
func (s *server) host() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/loki/api/v1/")
}

// gauge is the value of a metric without labels.
func (s *server) gauge(t *testing.T, name string) int {
	t.Helper()
	r := s.request(t, "")
	r.URL = &url.URL{Scheme: "http", Host: s.host(), Path: "/metrics"}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindSubmatch(body)
	if found == nil {
		t.Fatalf("no metric %s in\n%s", name, body)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// crowd are requests that run and wait at a server, and those that it rejected.
type crowd struct {
	all      sync.WaitGroup
	mu       sync.Mutex
	rejected int
}

// add makes n requests of a token, each with a query of its own, and waits until none of them is on its way.
func (c *crowd) add(ctx context.Context, t *testing.T, s *server, n int, request func(i int) (path string, params []string)) {
	t.Helper()
	for i := range n {
		path, params := request(i)
		r := s.request(t, path, params...).WithContext(ctx)
		c.all.Go(func() {
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return // canceled
			}
			_ = answer.Body.Close()
			c.mu.Lock()
			defer c.mu.Unlock()
			if answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") != "" {
				c.rejected++
			} else {
				t.Errorf("%s %q: status %d", path, params, answer.StatusCode)
			}
		})
	}
}

// want waits until so many requests run, wait and were rejected.
func (c *crowd) want(t *testing.T, s *server, kind string, running, waiting, rejected int) {
	t.Helper()
	await.Until(t, patience, fmt.Sprintf("%squeries: %d run, %d wait, %d rejected", kind, running, waiting, rejected), func() bool {
		c.mu.Lock()
		got := c.rejected
		c.mu.Unlock()
		return got == rejected && s.gauge(t, "logstow_"+kind+"queries_waiting") == waiting && s.gauge(t, "logstow_"+kind+"queries_running") == running
	})
}

// One server with default limits holds them while its storage does not respond: of queries and of queries of metadata as many run
// and wait as may, one token leaves a slot to others, and neither kind waits for the other. Requests that are too large are rejected.
func TestServeLimits(t *testing.T) {
	t.Parallel()
	s, proxy := slowAzurite(t, 10*time.Minute)
	server := s.serve(t, "--metrics", "--tokens", tokenFile(t, map[string][]string{"a": {"*"}, "b": {"*"}}))
	a, b := server.with("a"), server.with("b")
	stop := func(kinds ...faultproxy.Kind) {
		proxy.SetRules(faultproxy.Rule{Match: faultproxy.Of(kinds...), Chance: 1, Faults: []faultproxy.Fault{faultproxy.Slow}})
	}
	day := func(i int) []string { // not the same listing for all
		return []string{"start", fmt.Sprintf("%d-01-01T00:00:00Z", 2000+i%20), "end", fmt.Sprintf("%d-01-02T00:00:00Z", 2000+i%20)}
	}
	scan := func(i int) (string, []string) {
		return "query_range", inShop("query", fmt.Sprintf(`{service_name="shop"} | json | status = %d`, 900+i))
	}
	metadata := func(i int) (string, []string) {
		return "index/stats", append([]string{"query", `{service_name="shop"}`}, day(i)...)
	}
	a.ask(t, "labels", inShop()...) // from here on footers are in memory
	for kind, c := range map[string]struct {
		stopped faultproxy.Kind
		request func(i int) (string, []string)
		other   func() (string, []string)
	}{
		"":          {faultproxy.ReadBlob, scan, func() (string, []string) { return "labels", inShop() }},
		"metadata_": {faultproxy.ListBlobs, metadata, func() (string, []string) { return "query", []string{"query", "vector(1)", "time", shopTo} }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var waiting crowd
		stop(c.stopped)
		waiting.add(ctx, t, a, serveQueries-1+serveQueued+5, c.request)
		waiting.want(t, a, kind, serveQueries-1, serveQueued, 5)
		waiting.add(ctx, t, b, 1, c.request) // takes the slot
		waiting.want(t, a, kind, serveQueries, serveQueued, 5)
		waiting.add(ctx, t, b, 1, c.request) // takes the place of one of a
		waiting.want(t, a, kind, serveQueries, serveQueued, 6)
		path, params := c.other()
		a.ask(t, path, params...) // does not wait
		cancel()
		waiting.all.Wait()
		waiting.want(t, a, kind, 0, 0, 6)
		proxy.SetRules()
	}
	server.testTails(t)
	server.testSizes(t)
	server.testConnections(t)
	if effort.Of() >= effort.Full {
		t.Run("time", server.testTimes)
	}
}

// testTails opens as many live tails as there may be: one token leaves one to others.
func (s *server) testTails(t *testing.T) {
	follow := func(token string) (int, error) {
		t.Helper()
		r := s.with(token).request(t, "tail", "query", `{service_name="web"}`)
		conn, answer, err := websocket.Dial(t.Context(), strings.Replace(r.URL.String(), "http", "ws", 1), &websocket.DialOptions{HTTPHeader: r.Header}) //nolint:bodyclose // the library closes it
		if err == nil {
			t.Cleanup(func() { _ = conn.CloseNow() })
		}
		if answer == nil {
			return 0, err
		}
		return answer.StatusCode, err
	}
	for i := range serveQueued - 1 {
		if status, err := follow("a"); err != nil {
			t.Fatalf("tail %d: status %d, %v", i, status, err)
		}
	}
	for _, c := range []struct {
		token string
		want  int
	}{{"a", http.StatusTooManyRequests}, {"b", http.StatusSwitchingProtocols}, {"b", http.StatusTooManyRequests}} {
		if status, _ := follow(c.token); status != c.want {
			t.Errorf("a further tail of %s: status %d, want %d", c.token, status, c.want)
		}
	}
	if n := s.with("a").gauge(t, "logstow_tails"); n != serveQueued {
		t.Errorf("%d tails", n)
	}
}

// dial opens a connection and sends a text.
func (s *server) dial(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", s.host(), patience) //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// testConnections opens connections until one is rejected. Others are still served.
func (s *server) testConnections(t *testing.T) {
	share, _ := filedesc.Divide(filedesc.Limit())
	most := share.Take(serveConnections, 0)
	ready := func() int {
		answer, err := http.ReadResponse(bufio.NewReader(s.dial(t, "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	n := 0
	for n <= most && ready() == http.StatusOK {
		n++
	}
	if others := 3 * serveQueued; n > most || n < most-others { // tails, and connections that are kept
		t.Errorf("%d connections, want about %d", n, most)
	}
	s.with("a").ask(t, "labels", inShop()...)
}

// testSizes sends headers and bodies up to their limits and beyond.
func (s *server) testSizes(t *testing.T) {
	filled := func(before string, size int) string { return before + strings.Repeat("x", size-len(before)) }
	request := func(path, header, body string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
			header + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	const path = "/loki/api/v1/query"
	ask := func(text string) int {
		answer, err := http.ReadResponse(bufio.NewReader(s.dial(t, text)), nil)
		if err != nil {
			t.Errorf("%.40s: %v", text, err)
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"header":          {request(path, filled("X: ", serveHeader-1024)+"\r\n", "query=vector(1)"), http.StatusOK},
		"longer header":   {request(path, filled("X: ", serveHeader+serveHeaderSlack)+"\r\n", "query=vector(1)"), http.StatusRequestHeaderFieldsTooLarge},
		"body":            {request(path, "", filled("query=vector(1)&x=", serveBody)), http.StatusOK},
		"longer body":     {request(path, "", filled("query=vector(1)&x=", serveBody+1)), http.StatusRequestEntityTooLarge},
		"login":           {request("/login", "", filled("token=a&x=", serveLogin)), http.StatusNoContent},
		"longer login":    {request("/login", "", filled("token=a&x=", serveLogin+1)), http.StatusRequestEntityTooLarge},
		"login, no token": {request("/login", "", "token=wrong"), http.StatusUnauthorized},
	} {
		if got := ask(c.text); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	body := request(path, "", filled("query=vector(1)&x=", serveBody))
	var held []net.Conn // some of them may be rejected instead of the one that is asked
	hold := func() { held = append(held, s.dial(t, body[:len(body)-1])) }
	for range serveBodies / serveBody {
		hold()
	}
	await.Until(t, patience, "a further body is rejected", func() bool {
		hold()
		return ask(body) == http.StatusTooManyRequests
	})
	if got := ask(request(path, "", "query=vector(1)")); got != http.StatusOK {
		t.Errorf("a small body beside large ones: status %d", got)
	}
	for _, c := range held {
		_ = c.Close() // nothing is written any more
	}
}

// testTimes sends headers and bodies that do not end, and does not read a response.
func (s *server) testTimes(t *testing.T) {
	const head = "POST /loki/api/v1/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n"
	large := "GET /loki/api/v1/query_range?query=vector(1)&start=0&end=10999&step=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n\r\n"
	for name, c := range map[string]struct {
		text string
		want time.Duration
	}{
		"header": {head, serveHeaderTime},
		"body":   {head + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nquery=", serveRequestTime},
		"reader": {strings.Repeat(large, 100), serveReadTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, began := s.dial(t, c.text), time.Now()
			if name == "reader" {
				ended := regexp.MustCompile(`"remote":"` + conn.LocalAddr().String() + `".*"incomplete":true`)
				await.Until(t, patience, "the response is ended", func() bool { return ended.MatchString(s.output()) })
			} else if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Logf("the connection ended with %v", err)
			}
			took := time.Since(began)
			t.Logf("ended after %v", took)
			if took < c.want-serveTimeBelow || took > c.want+serveTimeAbove {
				t.Errorf("ended after %v, want %v", took, c.want)
			}
		})
	}
}

// A query and its wait end after --max-duration.
func TestServeDuration(t *testing.T) {
	t.Parallel()
	s, proxy := slowAzurite(t, 10*time.Minute)
	const limit = 2 * time.Second
	server := s.serve(t, "--no-cache", "--max-queries", "1", "--max-duration", limit.String(), "--metrics")
	proxy.SetRules(faultproxy.Rule{Match: faultproxy.Of(faultproxy.ReadBlob), Chance: 1, Faults: []faultproxy.Fault{faultproxy.Slow}})
	var all sync.WaitGroup
	var mu sync.Mutex
	ended := map[int][]time.Duration{}
	ask := func(i int) {
		began := time.Now()
		got, body, err := server.try(t, "query_range", inShop("query", fmt.Sprintf(`{service_name="shop"} | json | status = %d`, i))...)
		if err != nil {
			t.Errorf("%v: %.300s", err, body)
		}
		mu.Lock()
		defer mu.Unlock()
		ended[got] = append(ended[got], time.Since(began))
	}
	all.Go(func() { ask(900) })
	await.Until(t, patience, "the query runs", func() bool { return server.gauge(t, "logstow_queries_running") == 1 })
	// Of two that wait, one may follow the first, and the other waits for too long.
	all.Go(func() { ask(901) })
	all.Go(func() { ask(902) })
	all.Wait()
	t.Logf("ended by status: %v", ended)
	for status, all := range ended {
		for i, took := range all {
			want := limit
			if status == http.StatusGatewayTimeout && i > 0 {
				want = 2 * limit // it waited for the first
			}
			if took < want-serveTimeBelow || took > want+serveTimeAbove {
				t.Errorf("status %d after %v, want %v", status, took, want)
			}
		}
	}
	if ran, waited := len(ended[http.StatusGatewayTimeout]), len(ended[http.StatusTooManyRequests]); ran == 0 || waited == 0 || ran+waited != 3 {
		t.Errorf("%d ran and %d waited for too long", ran, waited)
	}
}

// The messages of a live tail have a maximum number of records, and of bytes.
func TestServeTailMessages(t *testing.T) {
	t.Parallel()
	s := target{name: "local", store: t.TempDir()}
	var text strings.Builder
	start, err := time.Parse(time.RFC3339, shopFrom)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return start.Add(time.Duration(i) * time.Millisecond).Format(time.RFC3339Nano) }
	const short, long = 2500, 10
	for i := range short {
		fmt.Fprintf(&text, "%s INFO line %d\n", at(i), i)
	}
	for i := range long {
		fmt.Fprintf(&text, "%s INFO %s\n", at(short+i), strings.Repeat("long ", serveTailLast/5))
	}
	s.ship(t, "web", text.String())
	conn, err := s.serve(t).follow(t, "query", `{service_name="web"}`, "start", shopFrom, "limit", "5000")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	records, most, largest := 0, 0, 0
	for records < short+long {
		_, message, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("after %d records: %v", records, err)
		}
		n := 0
		for _, stream := range decode[struct {
			Streams []struct{ Values [][2]string }
		}](t, message).Streams {
			n += len(stream.Values)
		}
		records, most, largest = records+n, max(most, n), max(largest, len(message))
	}
	t.Logf("at most %d records and %d bytes in a message", most, largest)
	if most != serveTailRecords || largest > serveTailMessage+serveTailLast+8<<10 || largest < serveTailMessage {
		t.Errorf("at most %d records and %d bytes in a message", most, largest)
	}
}
