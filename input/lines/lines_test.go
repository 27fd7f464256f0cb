package lines_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/lines"
	"logstow/input/listen"
	"logstow/internal/test/inputtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func handler(t testing.TB, opts httpserver.IntakeOptions) *lines.Handler {
	t.Helper()
	opts.Service, opts.Now = "web", inputtest.Now
	h, err := lines.NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func serve(t testing.TB, opts httpserver.IntakeOptions, server httpserver.Options) (address string) {
	t.Helper()
	return inputtest.ServeHTTP(t, server, handler(t, opts))
}

type answer struct {
	Status int
	Retry  string
}

func post(t testing.TB, address, query string, header http.Header, body io.Reader) answer {
	t.Helper()
	got, err := send(t, address, query, header, body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func send(t testing.TB, address, query string, header http.Header, body io.Reader) (answer, error) {
	t.Helper()
	got, _, err := inputtest.TryDo(t, http.MethodPost, "http://"+address+lines.Path+query, header, body)
	return answer{got.Status, got.Retry}, err
}

func zipped(t testing.TB, text string) *bytes.Buffer { return bytes.NewBuffer(inputtest.Gzip(t, text)) }

func TestLines(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
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
		"plain":  {"", nil, strings.NewReader("ERROR one\n\ntwo\r\n\r\nthree"), []string{"web 2026-11-18T11:08:20Z ERROR [-] ERROR one", "web 2026-11-18T11:08:20Z - [-] two\r", "web 2026-11-18T11:08:20Z - [-] three"}},
		"ndjson": {"?source=app", nil, strings.NewReader(`{"level":"warn","a": 1}` + "\n"), []string{`web 2026-11-18T11:08:20Z WARN [app] {"level":"warn","a": 1}`}},
		"header": {"", http.Header{lines.SourceHeader: {"job 7"}}, strings.NewReader("x\n"), []string{"web 2026-11-18T11:08:20Z - [job 7] x"}},
		"gzip":   {"", encoding("gzip"), zipped(t, "a\nb\n"), []string{"web 2026-11-18T11:08:20Z - [-] a", "web 2026-11-18T11:08:20Z - [-] b"}},
		"zstd":   {"", encoding("zstd"), bytes.NewReader(zw.EncodeAll([]byte("a\nb\n"), nil)), []string{"web 2026-11-18T11:08:20Z - [-] a", "web 2026-11-18T11:08:20Z - [-] b"}},
		"empty":  {"", nil, strings.NewReader(""), nil},
	} {
		if got := post(t, address, c.query, c.header, c.body); got.Status != http.StatusNoContent {
			t.Errorf("%s: status %d", name, got.Status)
		}
		if diff := cmp.Diff(c.want, s.TakeLines()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// A request with a key is stored once; one without a key each time.
func TestKey(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
	key := func(name string) http.Header { return http.Header{httpserver.KeyHeader: {name}} }
	s.Fail("", input.ErrBusy)
	if got := post(t, address, "", key("1"), strings.NewReader("a\n")); got.Status != 503 {
		t.Errorf("%+v", got)
	}
	s.Fail("", nil)
	for _, c := range []struct {
		header http.Header
		body   string
		status int
	}{
		{key("1"), "a\n", 204},
		{key("1"), "a\n", 204},
		{key("2"), "a\n", 204},
		{key("1"), "b\n", 422},
		{nil, "c\n", 204},
		{nil, "c\n", 204},
		{key("3"), "\n", 204},
	} {
		if got := post(t, address, "", c.header, strings.NewReader(c.body)); got.Status != c.status {
			t.Errorf("%v %q: %+v", c.header, c.body, got)
		}
	}
	if diff := cmp.Diff([]string{"web 2026-11-18T11:08:20Z - [-] a", "web 2026-11-18T11:08:20Z - [-] a", "web 2026-11-18T11:08:20Z - [-] c", "web 2026-11-18T11:08:20Z - [-] c"}, s.TakeLines()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 20}}, httpserver.Options{})
	encoding := func(e string) http.Header { return http.Header{"Content-Encoding": {e}} }
	bomb := zipped(t, strings.Repeat("a", 64<<20))
	for name, c := range map[string]struct {
		header http.Header
		body   io.Reader
		want   answer
	}{
		"oversized":   {nil, strings.NewReader(strings.Repeat("a", 1<<20+1)), answer{413, ""}},
		"bomb":        {encoding("gzip"), bomb, answer{413, ""}},
		"many lines":  {nil, strings.NewReader(strings.Repeat("\n", 1<<20)), answer{413, ""}},
		"no gzip":     {encoding("gzip"), strings.NewReader("plain text"), answer{400, ""}},
		"cut gzip":    {encoding("gzip"), bytes.NewReader(zipped(t, "abcdefgh").Bytes()[:20]), answer{400, ""}},
		"encoding":    {encoding("br"), strings.NewReader("x"), answer{415, ""}},
		"other site":  {http.Header{"Origin": {"http://example.com"}, "Sec-Fetch-Site": {"cross-site"}}, strings.NewReader("x"), answer{403, ""}},
		"no gzip yet": {encoding("zstd"), strings.NewReader("plain text"), answer{400, ""}},
	} {
		if got := post(t, address, "", c.header, c.body); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	s.Fail("", input.ErrBusy)
	if got, want := post(t, address, "", nil, strings.NewReader("x")), (answer{503, "5"}); got != want {
		t.Errorf("busy: %+v, want %+v", got, want)
	}
	s.Fail("", errors.New("the disk is gone"))
	if got, want := post(t, address, "", nil, strings.NewReader("x")), (answer{503, "5"}); got != want {
		t.Errorf("failed: %+v, want %+v", got, want)
	}
	s.Fail("", nil)
	if got := s.TakeLines(); got != nil {
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
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{Endpoint: listen.Endpoint{MaxConnections: 64}})
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
	if diff := cmp.Diff([]string{"web 2026-11-18T11:08:20Z - [-] still here"}, s.TakeLines()); diff != "" {
		t.Error(diff)
	}
}

// Requests together hold no more than MaxMemory; further ones get a response to retry.
func TestMaxHeld(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxMemory: 1600 << 10}}, httpserver.Options{})
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
	deadline := time.Now().Add(2 * time.Minute)
	for {
		got, err := send(t, address, "", nil, strings.NewReader(strings.Repeat("b", 1000<<10)))
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
	s.TakeLines()
	_ = w.Close()
	if status := <-finished; status != 204 {
		t.Errorf("the first one: status %d", status)
	}
	if got := post(t, address, "", nil, strings.NewReader(strings.Repeat("b", 400<<10))); got.Status != 204 {
		t.Errorf("afterwards: %+v", got)
	}
}

func BenchmarkLines(b *testing.B) {
	mux := http.NewServeMux()
	handler(b, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.Discard{}}}).Register(mux)
	line := `{"time":"2026-11-20T15:04:05.123Z","level":"info","msg":"request served","path":"/api/orders/12345","status":200,"ms":12}` + "\n"
	body := []byte(strings.Repeat(line, (4<<20)/len(line)))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, lines.Path, bytes.NewReader(body))
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n"), "", "app")
	f.Add(inputtest.Gzip(f, "a\n"), "gzip", "")
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00"), "zstd", "\x00")
	s := inputtest.NewSink()
	mux := http.NewServeMux()
	handler(f, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 16}}).Register(mux)
	f.Fuzz(func(t *testing.T, body []byte, encoding, source string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, lines.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Encoding", encoding)
		r.Header.Set(lines.SourceHeader, source)
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
		for _, l := range s.TakeLines() {
			if strings.Contains(l, "\n") {
				t.Errorf("a record of two lines: %q", l)
			}
		}
	})
}
