package formats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/filestore"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/httpserver"
	"logstow/input/multiline"
	"logstow/input/otlp"
	"logstow/input/push"
	"logstow/input/tail"
	"logstow/internal/test/formats"
	"logstow/internal/test/inputtest"
	"logstow/query"
	"logstow/record"
	"logstow/record/recognize"
)

// got is a record that an input made.
type got struct {
	time    int64
	level   record.Level
	message string
	// parse is the parser of its fields.
	parse string
}

// sink keeps records by their source.
type sink struct {
	*inputtest.Sink
	bySource map[string][]got
}

func newSink() *sink { return &sink{inputtest.NewSink(), map[string][]got{}} }

// Append implements [input.Sink].
func (s *sink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	for _, r := range c.Records {
		s.bySource[r.Source] = append(s.bySource[r.Source], got{r.Time, r.Level, string(r.Message), c.Parse})
	}
	return s.Sink.Append(ctx, c)
}

// options are those of all inputs.
func options(s input.Sink, zone *time.Location) input.Options {
	return input.Options{
		Service: "test", Sink: s, Now: formats.Now, Recognize: recognize.Options{Zone: zone},
		Lines: input.Lines{Multiline: multiline.Options{Auto: true}},
	}
}

// log is what an input gets: a text, or the messages in which a protocol has it.
type log struct {
	text     string
	messages []string
}

// asFiles reads logs as files, each line of which wrap changed.
func asFiles(t *testing.T, zone *time.Location, format container.Format, logs []log, wrap func(line string) string) [][]got {
	t.Helper()
	dir := t.TempDir()
	paths := make([]string, len(logs))
	for i, l := range logs {
		var text strings.Builder
		for line := range strings.Lines(l.text) {
			text.WriteString(wrap(strings.TrimSuffix(line, "\n")) + "\n")
		}
		paths[i] = filepath.Join(dir, fmt.Sprintf("%03d.log", i))
		err := os.WriteFile(paths[i], []byte(text.String()), 0o600)
		if err == nil {
			err = os.Chtimes(paths[i], formats.Now(), formats.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := newSink()
	opts := tail.Options{Options: options(s, zone), Paths: []string{filepath.Join(dir, "*.log")}, Once: true, Polling: true}
	opts.Lines.Format, opts.Parts = format, otlp.Parts(opts.Options)
	in, err := tail.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := make([][]got, len(logs))
	for i, path := range paths {
		for _, stream := range []string{"", "/stdout", "/stderr"} {
			all[i] = append(all[i], s.bySource[filepath.Base(path)+stream]...)
		}
	}
	return all
}

// runtimeTime is when container runtimes got the lines.
const runtimeTime = "2026-11-20T15:29:59.5Z"

func files(t *testing.T, zone *time.Location, logs []log) [][]got {
	t.Helper()
	return asFiles(t, zone, container.Auto, logs, func(line string) string { return line })
}

func criFiles(t *testing.T, zone *time.Location, logs []log) [][]got {
	t.Helper()
	return asFiles(t, zone, container.CRI, logs, func(line string) string { return runtimeTime + " stdout F " + line })
}

func dockerFiles(t *testing.T, zone *time.Location, logs []log) [][]got {
	t.Helper()
	return asFiles(t, zone, container.Docker, logs, func(line string) string {
		return `{"log":` + quote(t, line+"\n") + `,"stream":"stdout","time":"` + runtimeTime + `"}`
	})
}

// around returns a run that reads logs as files with texts around each line.
func around(before, after string) func(*testing.T, *time.Location, []log) [][]got {
	return func(t *testing.T, zone *time.Location, logs []log) [][]got {
		t.Helper()
		return asFiles(t, zone, container.Auto, logs, func(line string) string { return before + line + after })
	}
}

// quote is a text in JSON.
func quote(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// queried are files of logq query --file.
func queried(t *testing.T, zone *time.Location, logs []log) [][]got {
	t.Helper()
	s, err := filestore.New(filestore.Options{Zone: zone, Now: formats.Now, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i, l := range logs {
		if err := s.Add(t.Context(), strconv.Itoa(i), strings.NewReader(l.text), formats.Now()); err != nil {
			t.Fatal(err)
		}
	}
	q, err := query.New([]query.Store{{Name: "files", Blobs: s, Tables: s, Free: true}}, query.Selection{
		From: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
	}, query.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]got, len(logs))
	if err := q.Run(t.Context(), p, func(m query.Match) error {
		name, _, _ := strings.Cut(string(m.Source()), "/") // without the stream
		i, err := strconv.Atoi(name)
		if err == nil {
			all[i] = append(all[i], got{m.Time, m.Level(), string(record.AppendMessage(nil, m.Message())), ""})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// register returns the handler of an input over HTTP.
func register(routes httpserver.Routes) http.Handler {
	mux := http.NewServeMux()
	routes.Register(mux)
	return mux
}

// send sends a request, which must be accepted.
func send(t *testing.T, h http.Handler, path, kind, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
}

// pushed are messages from a sender of Loki's protocol, which sends the time at which it read them.
func pushed(t *testing.T, zone *time.Location, logs []log) [][]got {
	t.Helper()
	s := newSink()
	h, err := push.NewHandler(httpserver.IntakeOptions{Options: options(s, zone)})
	if err != nil {
		t.Fatal(err)
	}
	var streams []string
	for i, l := range logs {
		var values []string
		for _, m := range l.messages {
			values = append(values, fmt.Sprintf(`["%d",%s]`, formats.Now().UnixNano(), quote(t, m)))
		}
		streams = append(streams, fmt.Sprintf(`{"stream":{"host":"%d"},"values":[%s]}`, i, strings.Join(values, ",")))
	}
	send(t, register(h), push.Path, "application/json", `{"streams":[`+strings.Join(streams, ",")+`]}`)
	all := make([][]got, len(logs))
	for i := range logs {
		all[i] = s.bySource[strconv.Itoa(i)]
	}
	return all
}

// sorted sorts records by time, as a query does.
func sorted(all []got) []got {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b got) int { return int(max(-1, min(1, a.time-b.time))) })
	return all
}
