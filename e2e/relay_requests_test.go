package e2e

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/listen"
	inputrelay "logstow/input/relay"
	"logstow/internal/test/effort"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/relay"
	"logstow/store"
	"logstow/upload"
)

// TestRelayRequests counts what one flush of 40 services on each of 50 nodes costs in requests to storage, without relays and with three.
func TestRelayRequests(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships the same with and without relays")
	const nodes, services, relays = 50, 40, 3
	now := time.Now().Truncate(time.Hour).Add(10 * time.Minute)
	openBuffer := func(instance, dir string) *buffer.Buffer {
		b, err := buffer.Open(t.Context(), buffer.Options{Instance: instance, Dir: dir, FlushInterval: -1, Sync: buffer.SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ship := func(b *buffer.Buffer, st store.Store) {
		b.Drain(t.Context())
		if err := upload.New(upload.Options{Buffer: b, Store: st}).Run(t.Context()); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	// flush ships one flush of every node to a store.
	flush := func(open func() store.Store) {
		var all sync.WaitGroup
		work := make(chan int)
		for range 4 {
			all.Go(func() {
				for node := range work {
					b := openBuffer(fmt.Sprintf("node-%d", node), "")
					for service := range services {
						if _, err := b.Append(t.Context(), buffer.Chunk{Service: fmt.Sprintf("svc-%d", service), Records: []record.Record{
							{Time: now.UnixNano(), Source: "a.log", Message: fmt.Appendf(nil, "node %d", node)},
						}}); err != nil {
							t.Error(err)
						}
					}
					st := open()
					ship(b, st)
					if err := st.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for node := range nodes {
			work <- node
		}
		close(work)
		all.Wait()
	}
	var direct, pooled store.Counter
	without := storetest.OpenLocal(t)
	flush(func() store.Store { return unclosed{direct.Store(without)} })

	with := storetest.OpenLocal(t)
	var addresses []string
	var buffers []*buffer.Buffer
	var serving sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range relays {
		b := openBuffer(fmt.Sprintf("relay-%d", i), filepath.Join(t.TempDir(), "buffer"))
		reader, err := new(inputrelay.Spec).Open(t.Context(), input.Opening{
			Options: input.Options{Sink: b}, Endpoint: listen.Endpoint{Address: "127.0.0.1:0"}, Instance: fmt.Sprint(i), BufferID: b.ID,
		})
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, b)
		addresses = append(addresses, reader.(interface{ Addr() net.Addr }).Addr().String())
		serving.Go(func() {
			if err := reader.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	flush(func() store.Store {
		st, err := relay.Open(relay.Options{Name: "relay://" + strings.Join(addresses, ",")})
		if err != nil {
			t.Error(err)
		}
		return st
	})
	stop()
	serving.Wait()
	for _, b := range buffers {
		ship(b, pooled.Store(with))
	}
	a, b := direct.Requests(), pooled.Requests()
	count := func(r store.Requests) int64 { return r.Create + r.Table + r.List + r.Get }
	if a.Create < nodes*services || count(b)*8 > nodes*services || b.Create < services {
		t.Errorf("without relays %+v, with %+v", a, b)
	}
	t.Logf("%d requests without relays (%d segments), %d with three (%d segments)", count(a), a.Create, count(b), b.Create)
}

// unclosed is a store that the caller closes.
type unclosed struct{ store.Store }

func (unclosed) Close() error { return nil }
