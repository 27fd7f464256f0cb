package lines_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/lines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps what it gets; err refuses it.
type sink struct {
	mu    sync.Mutex
	err   error
	lines []string
}

func (s *sink) Append(_ context.Context, c buffer.Chunk) (buffer.LSN, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return buffer.LSN(0), s.err
	}
	for _, r := range c.Records {
		s.lines = append(s.lines, fmt.Sprintf("%s %s %s %s", c.Service, r.Level, r.Source, r.Message))
	}
	return buffer.LSN(0), nil
}
func (s *sink) Position(string) ([]byte, bool)           { return nil, false }
func (s *sink) Positions(string) []buffer.Position       { return nil }
func (s *sink) Synced(context.Context, buffer.LSN) error { return nil }

func (s *sink) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *sink) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.lines = nil }()
	return s.lines
}

// serve runs the input and returns its address.
func serve(t *testing.T, opts lines.Options, server httpserver.Options) string {
	t.Helper()
	opts.Service = "web"
	h, err := lines.NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	server.Address = "127.0.0.1:0"
	s, err := httpserver.New(t.Context(), server, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s.Addr().String()
}

type answer struct {
	Status int
	Retry  string
}

func post(t *testing.T, address, query string, header http.Header, body io.Reader) answer {
	t.Helper()
	got, err := send(t, address, query, header, body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func send(t *testing.T, address, query string, header http.Header, body io.Reader) (answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+lines.Path+query, body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return answer{res.StatusCode, res.Header.Get("Retry-After")}, nil
}

func zipped(text string) *bytes.Buffer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return &b
}

func TestLines(t *testing.T) {
	t.Parallel()
	s := new(sink)
	address := serve(t, lines.Options{Options: input.Options{Sink: s}}, httpserver.Options{})
	zw, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer zw.Close()
	encoding := func(e string) http.Header { return http.Header{"Content-Encoding": {e}} }
	for name, c := range map[string]struct {
		query  string
		header http.Header
		body   io.Reader
		want   []string
	}{
		"plain":  {"", nil, strings.NewReader("ERROR one\n\ntwo\r\n\r\nthree"), []string{"web ERROR - ERROR one", "web - - two\r", "web - - three"}},
		"ndjson": {"?source=app", nil, strings.NewReader(`{"level":"warn","a": 1}` + "\n"), []string{`web WARN app {"level":"warn","a": 1}`}},
		"header": {"", http.Header{lines.SourceHeader: {"job 7"}}, strings.NewReader("x\n"), []string{"web - job 7 x"}},
		"gzip":   {"", encoding("gzip"), zipped("a\nb\n"), []string{"web - - a", "web - - b"}},
		"zstd":   {"", encoding("zstd"), bytes.NewReader(zw.EncodeAll([]byte("a\nb\n"), nil)), []string{"web - - a", "web - - b"}},
		"empty":  {"", nil, strings.NewReader(""), nil},
	} {
		if got := post(t, address, c.query, c.header, c.body); got.Status != http.StatusNoContent {
			t.Errorf("%s: status %d", name, got.Status)
		}
		if diff := cmp.Diff(c.want, s.take()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := new(sink)
	address := serve(t, lines.Options{Options: input.Options{Sink: s}, MaxBody: 1 << 20}, httpserver.Options{})
	encoding := func(e string) http.Header { return http.Header{"Content-Encoding": {e}} }
	bomb := zipped(strings.Repeat("a", 64<<20))
	for name, c := range map[string]struct {
		header http.Header
		body   io.Reader
		want   answer
	}{
		"oversized":   {nil, strings.NewReader(strings.Repeat("a", 1<<20+1)), answer{413, ""}},
		"bomb":        {encoding("gzip"), bomb, answer{413, ""}},
		"many lines":  {nil, strings.NewReader(strings.Repeat("\n", 1<<20)), answer{413, ""}},
		"no gzip":     {encoding("gzip"), strings.NewReader("plain text"), answer{400, ""}},
		"cut gzip":    {encoding("gzip"), bytes.NewReader(zipped("abcdefgh").Bytes()[:20]), answer{400, ""}},
		"encoding":    {encoding("br"), strings.NewReader("x"), answer{415, ""}},
		"other site":  {http.Header{"Origin": {"http://example.com"}, "Sec-Fetch-Site": {"cross-site"}}, strings.NewReader("x"), answer{403, ""}},
		"no gzip yet": {encoding("zstd"), strings.NewReader("plain text"), answer{400, ""}},
	} {
		if got := post(t, address, "", c.header, c.body); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	s.refuse(input.ErrBusy)
	if got, want := post(t, address, "", nil, strings.NewReader("x")), (answer{503, "5"}); got != want {
		t.Errorf("busy: %+v, want %+v", got, want)
	}
	s.refuse(errors.New("the disk is gone"))
	if got, want := post(t, address, "", nil, strings.NewReader("x")), (answer{503, "5"}); got != want {
		t.Errorf("failed: %+v, want %+v", got, want)
	}
	s.refuse(nil)
	if got := s.take(); got != nil {
		t.Errorf("refused, but taken: %q", got)
	}
	if got := post(t, address, "", nil, strings.NewReader("x")); got.Status != 204 {
		t.Errorf("afterwards: %+v", got)
	}
}

// Connections that send nothing, garbage or half a request are closed with the
// server and exclude no other client.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	s := new(sink)
	address := serve(t, lines.Options{Options: input.Options{Sink: s}}, httpserver.Options{MaxConnections: 64})
	for i := range 32 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		switch i % 4 {
		case 0:
			_, _ = c.Write([]byte("\x16\x03\x01garbage\r\n\r\n\x00\xff"))
		case 1:
			_, _ = c.Write([]byte("POST /v1/lines HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nhalf"))
		case 2:
			_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}
	if got := post(t, address, "", nil, strings.NewReader("still here\n")); got.Status != 204 {
		t.Errorf("status %d", got.Status)
	}
	if diff := cmp.Diff([]string{"web - - still here"}, s.take()); diff != "" {
		t.Error(diff)
	}
}

// Requests together hold no more than MaxMemory; further ones get a response to retry.
func TestMaxHeld(t *testing.T) {
	t.Parallel()
	s := new(sink)
	address := serve(t, lines.Options{Options: input.Options{Sink: s}, MaxMemory: 1600 << 10}, httpserver.Options{})
	// Until all of the first request is held, it is the one that may be refused.
	first := func() (*io.PipeWriter, chan int) {
		r, w := io.Pipe()
		finished := make(chan int, 1)
		go func() {
			got, _ := send(t, address, "", nil, r) // refused in its midst, it may see its connection reset
			_ = r.Close()
			finished <- got.Status
		}()
		_, _ = w.Write([]byte(strings.Repeat("a", 700<<10))) // refused, it is not read to the end
		return w, finished
	}
	w, finished := first()
	deadline := time.Now().Add(30 * time.Second)
	for {
		got, err := send(t, address, "", nil, strings.NewReader(strings.Repeat("b", 400<<10)))
		if got == (answer{503, "5"}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v, want 503", got, err)
		}
		select {
		case status := <-finished:
			if status != 0 && status != 503 {
				t.Fatalf("the first one: status %d", status)
			}
			w, finished = first()
		default:
		}
	}
	s.take()
	_ = w.Close()
	if status := <-finished; status != 204 {
		t.Errorf("the first one: status %d", status)
	}
	if got := post(t, address, "", nil, strings.NewReader(strings.Repeat("b", 400<<10))); got.Status != 204 {
		t.Errorf("afterwards: %+v", got)
	}
}

func BenchmarkLines(b *testing.B) {
	h, err := lines.NewHandler(lines.Options{Options: input.Options{Service: "web", Sink: discard{}}})
	if err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	h.Register(mux)
	line := `{"time":"2026-11-20T15:04:05.123Z","level":"info","msg":"request served","path":"/api/orders/12345","status":200,"ms":12}` + "\n"
	body := []byte(strings.Repeat(line, (4<<20)/len(line)))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, lines.Path, bytes.NewReader(body))
		mux.ServeHTTP(nowhere{}, r)
	}
}

type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

type discard struct{}

func (discard) Append(context.Context, buffer.Chunk) (buffer.LSN, error) { return buffer.LSN(0), nil }
func (discard) Position(string) ([]byte, bool)                           { return nil, false }
func (discard) Positions(string) []buffer.Position                       { return nil }
func (discard) Synced(context.Context, buffer.LSN) error                 { return nil }

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n"), "", "app")
	f.Add(zipped("a\n").Bytes(), "gzip", "")
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00"), "zstd", "\x00")
	s := new(sink)
	h, err := lines.NewHandler(lines.Options{Options: input.Options{Service: "web", Sink: s}, MaxBody: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	mux := http.NewServeMux()
	h.Register(mux)
	f.Fuzz(func(t *testing.T, body []byte, encoding, source string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, lines.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Encoding", encoding)
		r.Header.Set(lines.SourceHeader, source)
		mux.ServeHTTP(nowhere{}, r)
		for _, l := range s.take() {
			if strings.Contains(l, "\n") {
				t.Errorf("a record of two lines: %q", l)
			}
		}
	})
}
