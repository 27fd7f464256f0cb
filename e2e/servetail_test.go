package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"logstow/internal/test/await"
)

// follow opens a websocket to tail; it ends with the test. headers are names and values in turns.
func (s *server) follow(t *testing.T, params ...string) (*websocket.Conn, error) {
	t.Helper()
	r := s.request(t, "tail", params...)
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(r.URL.String(), "http", "ws", 1), &websocket.DialOptions{HTTPHeader: r.Header}) //nolint:bodyclose // the library closes it
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(16 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn, nil
}

// A client of tail has each record of a running shipper once, in the order of the file: those from before it came and
// those that come.
func TestServeTail(t *testing.T) {
	t.Parallel()
	for _, kind := range someKinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			azure := kind == "Azurite"
			r := newRig(t, azure)
			path := filepath.Join(r.logs, "app.log")
			written := ""
			write := func(from, to int) {
				text := ""
				for i := from; i < to; i++ {
					text += fmt.Sprintf("line %06d of %s\n", i, strings.Repeat("text ", i%20))
				}
				appendFile(t, path, text)
				written += text
			}
			write(0, 500)
			shipper := r.start(plain(), nil, r.args(r.glob())...)
			var s *server
			await.Until(t, patience, "something is stored", func() bool {
				return strings.HasPrefix(string(r.command(t, nil, "logq", "services").out), "crash")
			})
			s = r.serve(t)
			conn, err := s.follow(t, "query", `{service_name="crash"} |= "line"`, "limit", "5000")
			if err != nil {
				t.Fatal(err)
			}
			// Segments of one file come in their order; the records of one poll are in the order of time.
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			got := map[string]int{}
			read := func(want int) {
				for len(got) < want {
					_, message, err := conn.Read(ctx)
					if err != nil {
						t.Fatalf("%d of %d records: %v", len(got), want, err)
					}
					for _, stream := range decode[struct {
						Streams []struct{ Values [][2]string }
					}](t, message).Streams {
						for _, v := range stream.Values {
							got[v[1]+"\n"]++
						}
					}
				}
			}
			read(500)
			for from := 500; from < 2000; from += 500 {
				write(from, from+500)
				read(from + 500)
			}
			for line := range strings.Lines(written) {
				if got[line] != 1 {
					t.Fatalf("%d times: %s", got[line], line)
				}
			}
			if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Error(err)
			}
			for _, p := range []*process{shipper, s.process} {
				p.signal(t, os.Interrupt)
				p.end(t, patience)
				if p.status() != 0 {
					t.Errorf("status %d: %s", p.status(), p.tail())
				}
			}
			same(t, "logq query", sortedLines(written), sortedLines(string(r.must(t, "logq", "query", "-s", "crash", "--since", "1h", "-o", "raw"))))
		})
	}
}
