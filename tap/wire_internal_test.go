package tap

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/memo"
	"logstow/internal/wire"
	"logstow/record"
)

// FuzzFrame checks that no frame harms, and that what is decoded encodes to the same record again.
func FuzzFrame(f *testing.F) {
	f.Add(appendRecord(nil, &Record{Record: record.Record{Time: 5, Level: record.Info, Source: "a", Message: []byte("m")}, Service: "s", Size: 1, Redacted: []string{"card"}, Dropped: "drop"})[5:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		d := decoder{wire.Reader{Rest: frame}, &memo.Map[string, string]{}}
		r := d.record()
		if d.Bad {
			return
		}
		again := appendRecord(nil, r)
		d = decoder{wire.Reader{Rest: again[5:]}, &memo.Map[string, string]{}}
		if diff := cmp.Diff(r, d.record()); diff != "" || d.Bad {
			t.Fatal(diff)
		}
		if n := len(again); n > len(frame)+5+64 || !bytes.HasSuffix(again, r.Message) {
			t.Fatalf("%d bytes of %d", n, len(frame))
		}
	})
}

// What waits for a client is bounded, and what finds no space is counted.
func TestBounded(t *testing.T) {
	t.Parallel()
	c := &client{}
	r := &Record{Record: record.Record{Message: make([]byte, 1000)}}
	const n = 2 * maxPending / 1000
	for range n {
		c.add(r)
	}
	if len(c.pending) > maxPending+2000 || c.skipped < n/3 || c.skipped > 2*n/3 {
		t.Errorf("%d bytes wait, %d of %d skipped", len(c.pending), c.skipped, n)
	}
}

// The end of the shipper does not wait for a client that does not read.
func TestEndBesideSlowClient(t *testing.T) {
	t.Parallel()
	one := New("pod-3", slog.New(slog.DiscardHandler))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	server, client := net.Pipe()
	defer client.Close()
	ended := make(chan struct{})
	go func() { defer close(ended); one.serve(ctx, server) }()
	if _, err := io.ReadFull(client, make([]byte, 1)); err != nil { // the rest waits to be read
		t.Fatal(err)
	}
	end()
	select {
	case <-ended:
	case <-time.After(writeTimeout * 2 / 3):
		t.Error("it waits for the client")
	}
}
