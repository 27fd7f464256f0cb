package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// A live tail of logq serve --watch has the records of a shipper that flushes once an hour, each once. With make long the first
// within 15 seconds, and, once the shippers were counted, each later one within 5 seconds of being written.
func TestLongServeWatch(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "a server whose tail is watched, on each kind of store")
	for _, kind := range storeKinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			azure := kind == "Azurite"
			r := newRig(t, azure)
			path := filepath.Join(r.logs, "app.log")
			appendFile(t, path, "line 0\n")
			shipper := r.start(plain(), nil, r.args("--flush-interval", "1h", r.glob())...)
			if r.dir != "" { // the server does not create the store of a shipper that has written nothing yet
				if err := os.MkdirAll(r.dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s := r.serve(t, "--watch")
			await.Until(t, patience, "the server logs that tails are watched", func() bool {
				return strings.Contains(s.tail(), `"msg":"live tails are watched`)
			})
			conn, err := s.follow(t, "query", `{service_name="crash"} |= "line"`)
			if err != nil {
				t.Fatal(err)
			}
			next := 0
			read := func(within time.Duration) {
				t.Helper()
				if effort.Of() < effort.Long {
					within = patience // other tests share the machine
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				_, message, err := conn.Read(ctx)
				if err != nil {
					t.Fatalf("line %d did not come within %v: %v\n%s", next, within, err, shipper.tail())
				}
				t.Logf("line %d after %v", next, time.Since(began))
				for _, stream := range decode[struct {
					Streams []struct{ Values [][2]string }
				}](t, message).Streams {
					for _, v := range stream.Values {
						if want := fmt.Sprintf("line %d", next); v[1] != want {
							t.Errorf("%q, want %q", v[1], want)
						}
						next++
					}
				}
			}
			read(15 * time.Second)
			for _, within := range []time.Duration{8 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second} {
				appendFile(t, path, fmt.Sprintf("line %d\n", next)) // the second flush waits until the shippers are counted
				read(within)
			}
			if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Error(err)
			}
			for _, p := range []*process{s.process, shipper} {
				p.signal(t, os.Interrupt)
				p.end(t, patience)
				if p.status() != 0 {
					t.Errorf("status %d: %s", p.status(), p.tail())
				}
			}
		})
	}
}
