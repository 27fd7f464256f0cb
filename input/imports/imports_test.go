package imports_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/imports"
	"logstow/layout"
	"logstow/record"
	"logstow/store/local"
)

// sink keeps messages and positions.
type sink struct {
	input.Sink
	messages  []string
	positions map[string][]byte
}

func (s *sink) Append(_ context.Context, c buffer.Chunk) (buffer.LSN, error) {
	for i := range c.Records {
		s.messages = append(s.messages, string(c.Records[i].Message))
	}
	for _, p := range c.Positions {
		s.positions[p.Input] = slices.Clone(p.Value)
	}
	return 0, nil
}

func (s *sink) Position(name string) ([]byte, bool) {
	p, ok := s.positions[name]
	return p, ok
}

// world is a directory that is imported from.
type world struct {
	t    *testing.T
	dir  string
	sink sink
	log  strings.Builder
	// now is the clock, target the store that is imported to.
	now    time.Time
	target string
}

func newWorld(t *testing.T) *world {
	return &world{t: t, dir: t.TempDir(), sink: sink{positions: map[string][]byte{}}, now: time.Date(2026, 11, 27, 15, 30, 0, 0, time.UTC)}
}

// write writes a blob, at the time of the clock.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err == nil {
		err = os.Chtimes(path, w.now, w.now)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// run imports, compares the messages with those that are wanted, and reports what was logged and failed.
func (w *world) run(as string, want ...string) string {
	w.t.Helper()
	s, err := local.Open(w.t.Context(), w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	l, err := layout.Parse(as, layout.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	spec := &imports.Spec{
		Layout: l, Target: w.target, From: w.now.Add(-24 * time.Hour), To: w.now.Add(24 * time.Hour), TempDir: w.t.TempDir(),
		Sources: []imports.Source{{Name: "src", Place: layout.Place{Blobs: s.Blobs(), Container: "logs", Directory: true}}},
	}
	w.sink.messages = nil
	w.log.Reset()
	opts := input.Options{
		Service: "import", Sink: &w.sink, Stats: &input.Stats{}, MaxRecord: record.MaxSize, Now: func() time.Time { return w.now },
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	r, err := spec.Open(w.t.Context(), input.Opening{Options: opts})
	if err == nil {
		err = r.Run(w.t.Context())
	}
	if !slices.Equal(w.sink.messages, want) {
		w.t.Errorf("imported %q, want %q", w.sink.messages, want)
	}
	return fmt.Sprint(w.log.String(), err)
}

func (w *world) says(got, want string) {
	w.t.Helper()
	if !strings.Contains(got, want) {
		w.t.Errorf("it says %s, want %s", got, want)
	}
}

const (
	hourly = "resourceId=/A/B/y=2026/m=11/d=27/h=15/m=00/PT1H.json"
	first  = `{"time":"2026-11-27T15:01:00Z","n":1}`
	second = `{"time":"2026-11-27T15:02:00Z","n":2}`
	third  = `{"time":"2026-11-27T15:03:00Z","n":3}`
)

// An incomplete line at the end of a blob is imported once it is complete; lines before it are imported once, and at once.
func TestIncompleteLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(hourly, first+"\n"+second[:30])
	w.says(w.run("azure", first), "ends within a line")
	w.says(w.run("azure"), "unfinished=1")
	w.write(hourly, first+"\n"+second)
	w.says(w.run("azure", second), "unfinished=0")
	w.says(w.run("azure"), "nothing to import")
	w.write(hourly, first+"\n"+second+"\n"+third+"\n{")
	w.run("azure", third)
	w.now = w.now.Add(2 * time.Hour)
	w.says(w.run("azure", "{"), "unfinished=0")
	w.says(w.run("azure"), "nothing to import")
	w.write(hourly, first+"\n"+third+"\n")
	w.says(w.run("azure"), "rewritten")
}

// What was imported to a store is imported to another one, too.
func TestAnotherTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(hourly, first+"\n")
	w.run("azure", first)
	w.target = "other"
	w.run("azure", first)
	w.says(w.run("azure"), "nothing to import")
}

// A copy of an old blob is not written any more, whenever it was copied.
func TestCopiedBlob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("shop/2026/11/26/18/a.log", "2026-11-26 18:00:00 INFO a\n2026-11-26 18:00:01 INFO b")
	w.says(w.run("{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.log", "2026-11-26 18:00:00 INFO a", "2026-11-26 18:00:01 INFO b"), "unfinished=0")
}

// Lines that continue the last record of a blob do not make it a rewritten one: it comes as a whole.
func TestContinuedRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const pattern, name = "{service}/{yyyy}/{MM}/{dd}/{*}.log", "shop/2026/11/27/a.log"
	const start = "2026-11-27 15:00:00 INFO a\n2026-11-27 15:00:01 ERROR b\njava.lang.IllegalStateException: c\n\tat shop.Orders.place(Orders.java:3)\n"
	w.write(name, start)
	w.run(pattern, "2026-11-27 15:00:00 INFO a", "2026-11-27 15:00:01 ERROR b\njava.lang.IllegalStateException: c\n\tat shop.Orders.place(Orders.java:3)")
	w.now = w.now.Add(time.Minute)
	w.write(name, start+"\tat shop.Main.main(Main.java:4)\n2026-11-27 15:00:02 INFO f\n")
	w.says(w.run(pattern, "2026-11-27 15:00:01 ERROR b\njava.lang.IllegalStateException: c\n\tat shop.Orders.place(Orders.java:3)\n\tat shop.Main.main(Main.java:4)", "2026-11-27 15:00:02 INFO f"), "blobs=1")
	w.says(w.run(pattern), "nothing to import")
	w.now = w.now.Add(time.Minute)
	w.write(name, "x"+start)
	w.says(w.run(pattern), "rewritten")
}
