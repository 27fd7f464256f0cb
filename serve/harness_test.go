package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"logstow/serve/access"
	"logstow/serve/limits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The secrets of the tokens of a test: of shop and its service, of web and its service, and of all services.
const (
	shopSecret = "shop-secret-1"
	webSecret  = "web-secret-2"
	allSecret  = "all-secret-3"
	noSecret   = "unknown-secret-4"
)

// secretText is text of queries, which no log may have.
const secretText = "needle-in-the-query"

// fakeAPI stands for the API: it has the services shop and web.
type fakeAPI struct {
	// began gets a value when a request that waits began, ended the cause of its end; release ends it.
	began   chan struct{}
	ended   chan error
	release chan struct{}
}

func newFakeAPI() *fakeAPI {
	return &fakeAPI{began: make(chan struct{}, 1000), ended: make(chan error, 1000), release: make(chan struct{})}
}

// ServeHTTP answers by the parameter "do".
func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == prefix+"tail" {
		a.tail(w, r)
		return
	}
	ctx := r.Context()
	_ = limits.FromContext(ctx).Add(1000, 0.25)
	limits.FromContext(ctx).SetRange(1763596800e9, 1763600400e9)
	switch r.FormValue("do") {
	case "":
		a.services(w, r)
	case "wait":
		a.began <- struct{}{}
		select {
		case <-ctx.Done():
			a.ended <- context.Cause(ctx)
			http.Error(w, "canceled", http.StatusInternalServerError)
		case <-a.release:
			a.ended <- nil
			_, _ = io.WriteString(w, "released")
		}
	case "nothing":
		<-ctx.Done()
	case "large":
		a.began <- struct{}{}
		chunk := make([]byte, 1<<20)
		for range 1 << 10 {
			if _, err := w.Write(chunk); err != nil {
				a.ended <- err
				return
			}
		}
		a.ended <- nil
	case "panic":
		panic("cannot answer " + r.FormValue("query"))
	case "fault":
		var none []int
		_ = none[len(r.FormValue("query"))]
	case "panic late":
		_, _ = io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		panic("late " + r.FormValue("query"))
	case "abort":
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "limits":
		q := limits.FromContext(ctx)
		fmt.Fprintf(w, "%d %v", q.MaxBytes, q.MaxCost)
	}
}

// services answers with the services of the selector that exist for the request.
func (a *fakeAPI) services(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, prefix) && !strings.HasPrefix(r.URL.Path, ownPrefix) {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	globs := access.FromContext(r.Context()).Globs()
	var found []string
	for _, s := range []string{"shop", "web"} {
		allowed := globs == nil || slices.ContainsFunc(globs, func(glob string) bool { return doublestar.MatchUnvalidated(glob, s) })
		if allowed && strings.Contains(r.FormValue("query")+string(body), s) {
			found = append(found, s)
		}
	}
	fmt.Fprintf(w, `{"status":"success","data":%q}`, found)
}

// tail echoes messages until its context or the connection ends.
func (a *fakeAPI) tail(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the server checked the origin
	if err != nil {
		return
	}
	defer c.CloseNow()
	a.began <- struct{}{}
	for {
		kind, message, err := c.Read(r.Context())
		if err == nil {
			err = c.Write(r.Context(), kind, message)
		}
		if err != nil {
			a.ended <- context.Cause(r.Context())
			return
		}
	}
}

// running is a server under test.
type running struct {
	*Server
	api  *fakeAPI
	log  *syncBuffer
	url  string
	stop func() error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func line(name, secret, services string) string {
	sum := sha256.Sum256([]byte(secret))
	return fmt.Sprintf("- {name: %s, sha256: %s, services: %s}\n", name, hex.EncodeToString(sum[:]), services)
}

// tokenFile is a file with the tokens of a test.
func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	writeTokens(t, file, line("shop", shopSecret, "[shop]")+line("web", webSecret, "['w*']")+line("all", allSecret, "['*']"))
	return file
}

func writeTokens(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func withTokens(t *testing.T) func(*Options) {
	return func(o *Options) {
		var err error
		if o.Tokens, err = access.Open(tokenFile(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// noon is a time of day that no budget of a day ends at.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// start starts a server on loopback.
func start(t *testing.T, change ...func(*Options)) *running {
	t.Helper()
	r := create(t, change...)
	r.run(t)
	return r
}

// startInMemory starts a server for a test whose clock is fake: it has connections that only need this process. dial opens one.
func startInMemory(t *testing.T, change ...func(*Options)) (r *running, dial func() net.Conn) {
	t.Helper()
	r = create(t, change...)
	l := &memoryListener{Listener: r.listener, dialed: make(chan net.Conn), closed: make(chan struct{})}
	r.listener = l
	r.run(t)
	return r, func() net.Conn {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close() })
		l.dialed <- there
		return here
	}
}

// memoryListener is a listener of connections in memory.
type memoryListener struct {
	net.Listener
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// create makes a server that does not run.
func create(t *testing.T, change ...func(*Options)) *running {
	t.Helper()
	r := &running{api: newFakeAPI(), log: new(syncBuffer)}
	opts := Options{
		Listen: "127.0.0.1:0", API: r.api, Metrics: true, Version: "test",
		Log:    slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Limits: limits.Options{MaxQueries: 4, MaxQueued: 32, Now: noon}, times: defaultTimes(),
	}
	opts.times.drain, opts.times.closing = time.Minute, time.Minute // this process may be stopped for seconds
	for _, c := range change {
		c(&opts)
	}
	var err error
	if r.Server, err = New(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + r.Addr().String()
	return r
}

// run runs a server until the end of the test.
func (r *running) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// client is one without connections that stay.
func client() *http.Client {
	return &http.Client{
		Timeout:       2 * time.Minute,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reply is a response without its body and its date.
type reply struct {
	StatusCode int
	Status     string
	Header     http.Header
	cookies    []*http.Cookie
}

// Cookies are the cookies that it sets.
func (r *reply) Cookies() []*http.Cookie { return r.cookies }

// ask is a request; change changes it. It returns the response and its body.
func (r *running) ask(t *testing.T, method, path string, change ...func(*http.Request)) (*reply, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(req)
	}
	resp, err := client().Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	resp.Header.Del("Date")
	return &reply{resp.StatusCode, resp.Status, resp.Header, resp.Cookies()}, string(body)
}

// whole is a response as text.
func whole(resp *reply, body string) string {
	var b strings.Builder
	fmt.Fprintln(&b, resp.Status)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range resp.Header {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Fprintln(&b, name, resp.Header[name])
	}
	return b.String() + body
}

func bearer(secret string) func(*http.Request) {
	return header("Authorization", "Bearer "+secret)
}

func basic(secret string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth("anyone", secret) }
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func host(name string) func(*http.Request) {
	return func(r *http.Request) { r.Host = name }
}

func form(text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

// dial opens a websocket to tail. It returns the status of the answer, 0 if there is none.
func (r *running) dial(t *testing.T, headers http.Header) (c *websocket.Conn, status int, err error) {
	t.Helper()
	c, resp, err := websocket.Dial(t.Context(), r.url+prefix+"tail?query="+secretText, &websocket.DialOptions{HTTPClient: client(), HTTPHeader: headers}) //nolint:bodyclose // the library closes it
	if c != nil {
		t.Cleanup(func() { c.CloseNow() })
	}
	if resp != nil {
		status = resp.StatusCode
	}
	return c, status, err
}

// receive is a value of a channel, or a failure after a minute.
func receive[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		t.Fatal("nothing after a minute: " + what)
	}
	return v
}

// raw opens a connection to the server.
func (r *running) raw(t *testing.T) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
