package upload_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/record"
	"logstow/relay"
	"logstow/segment"
	"logstow/store"
	"logstow/upload"
)

// fakeRelays are two relays, a and b.
type fakeRelays struct {
	store.Store

	mu sync.Mutex
	// answer is called for each segment, and has the error of the response.
	answer func(n relay.Name, sent int) error
	// check is called instead, if it is set, with the service of the segment and the floor.
	check func(n relay.Name, service string, floor int64) error
	// chosen has the relay for the next segment.
	chosen string
	// names are all that were sent, in order, taken those that were taken, by Seq; floors are their floors.
	names  []relay.Name
	taken  map[int64][]relay.Name
	floors []int64
}

const idA, idB = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"

func (f *fakeRelays) Relay(context.Context, string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.chosen == "" {
		return "", failure(store.ErrUnavailable)
	}
	return f.chosen, nil
}

func (f *fakeRelays) String() string       { return "relay://test" }
func (f *fakeRelays) Container() string    { return "" }
func (f *fakeRelays) Blobs() store.Blobs   { return fakeSegments{relays: f} }
func (f *fakeRelays) Tables() store.Tables { return nil }

type fakeSegments struct {
	store.Blobs
	relays *fakeRelays
}

func (s fakeSegments) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (string, error) {
	n, err := relay.ParseName(name)
	if err != nil {
		return "", err
	}
	floor, err := strconv.ParseInt(opts.Metadata[relay.FloorKey], 10, 64)
	if err != nil {
		return "", err
	}
	f := s.relays
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names, f.floors = append(f.names, n), append(f.floors, floor)
	if f.check != nil {
		read := func(_ context.Context, off, length int64) ([]byte, error) { return body[off : off+length], nil }
		footer, err := segment.VerifyStored(ctx, read, int64(len(body)))
		if err != nil {
			return "", err
		}
		if err := f.check(n, footer.Service, floor); err != nil {
			return "", err
		}
	} else if err := f.answer(n, len(f.names)); err != nil {
		return "", err
	}
	if f.taken == nil {
		f.taken = map[int64][]relay.Name{}
	}
	f.taken[n.Seq] = append(f.taken[n.Seq], n)
	return "", nil
}

func refused() error {
	return &store.Error{Op: "send", Object: "x", Class: store.ErrThrottled, Err: relay.ErrRefused}
}

func upTo(t *testing.T, f *fakeRelays, b *buffer.Buffer, opts upload.Options) (upload.Stats, error) {
	t.Helper()
	opts.Buffer, opts.Store = b, f
	opts.Backoff = upload.Backoff{Min: time.Millisecond, Max: 5 * time.Millisecond}
	return run(t.Context(), opts)
}

// A segment that a relay refuses goes to another one at once, one that it may have only to that one. Others do not wait for it.
func TestRelayBinds(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	fillMany(t, b, 20)
	f := &fakeRelays{chosen: idA}
	lost := int64(0)
	done := 0
	f.answer = func(n relay.Name, sent int) error {
		switch {
		case sent == 1: // a refuses: b is chosen
			f.chosen = idB
			return refused()
		case lost == 0: // b may have this one, and is away until all others are taken
			lost = n.Seq
			f.chosen = idA
			return failure(store.ErrUnavailable)
		case n.Seq == lost && done < 19:
			return failure(store.ErrUnavailable)
		}
		done++
		return nil
	}
	stats, err := upTo(t, f, b, upload.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Segments != 20 || stats.Quarantined != 0 || len(f.taken) != 20 {
		t.Errorf("%+v, %d taken", stats, len(f.taken))
	}
	for seq, names := range f.taken {
		want := idA
		if seq == lost {
			want = idB
		}
		if len(names) != 1 || names[0].Relay != want {
			t.Errorf("segment %d was taken as %v", seq, names)
		}
	}
	if st := b.Stats(); st.Unindexed != 0 {
		t.Errorf("%d entities wait, although relays write the index", st.Unindexed)
	}
}

// The floor never passes a segment that is not taken.
func TestRelayFloor(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	fillMany(t, b, 40)
	f := &fakeRelays{chosen: idA}
	f.answer = func(n relay.Name, sent int) error {
		if sent%3 == 0 {
			return failure(store.ErrUnavailable)
		}
		return nil
	}
	if _, err := upTo(t, f, b, upload.Options{Workers: 4}); err != nil {
		t.Fatal(err)
	}
	for i, floor := range f.floors {
		for _, later := range f.names[i:] {
			if later.Seq < floor {
				t.Fatalf("request %d has floor %d, and segment %d is sent later", i, floor, later.Seq)
			}
		}
	}
}

// A segment that only another relay may have, which is away, does not hold the floor of a relay.
func TestRelayFloorOfAnother(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	fillMany(t, b, 40)
	f := &fakeRelays{chosen: idB}
	lost, taken := int64(-1), 0
	f.answer = func(n relay.Name, _ int) error {
		f.chosen = idA
		if lost < 0 {
			lost = n.Seq
		}
		if n.Seq == lost && taken < 39 {
			return failure(store.ErrUnavailable)
		}
		taken++
		return nil
	}
	if _, err := upTo(t, f, b, upload.Options{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	above := 0
	for i, n := range f.names {
		if n.Relay == idA && f.floors[i] > lost {
			above++
		}
		if n.Relay == idB && f.floors[i] > lost {
			t.Errorf("request %d for segment %d has floor %d", i, n.Seq, f.floors[i])
		}
	}
	if len(f.taken[lost]) != 1 || f.taken[lost][0].Relay != idB || above < 30 {
		t.Errorf("segment %d was taken as %v; %d of %d requests have a floor above it", lost, f.taken[lost], above, len(f.names))
	}
}

// A later process sends a segment only to the relay that may have it, by its name, whatever else the configuration says.
func TestRelayAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openBufferWith(t, buffer.Options{Dir: dir, Sync: buffer.SyncNever})
	fillMany(t, b, 1)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeRelays{chosen: idA}
	f.answer = func(relay.Name, int) error {
		cancel()
		return failure(store.ErrUnavailable)
	}
	if _, err := run(ctx, upload.Options{Buffer: b, Store: f, StoreName: "relay://one"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	first := f.names[0]
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openBufferWith(t, buffer.Options{Dir: dir, Sync: buffer.SyncNever})
	b.Drain(t.Context())
	f = &fakeRelays{chosen: idB, answer: func(relay.Name, int) error { return nil }}
	if _, err := run(t.Context(), upload.Options{Buffer: b, Store: f, StoreName: "relay://two"}); err != nil {
		t.Fatal(err)
	}
	if len(f.names) != 1 || f.names[0] != first {
		t.Errorf("sent as %v, want %v", f.names, first)
	}
}

// A segment whose number a relay has forgotten, because it was in the quarantine, is sent with a number of its own.
func TestRelayForgotten(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	fillMany(t, b, 1)
	f := &fakeRelays{chosen: idA}
	f.answer = func(n relay.Name, sent int) error {
		if sent == 1 {
			return &store.Error{Op: "send", Object: "x", Class: relay.ErrForgotten}
		}
		return nil
	}
	if _, err := upTo(t, f, b, upload.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(f.names) != 2 || f.names[0].Seq != f.names[1].Seq || len(f.names[1].Sender) <= len(f.names[0].Sender) {
		t.Errorf("sent as %v", f.names)
	}
}

// A segment whose response was lost, and whose number the relay has forgotten since, waits in the quarantine until it is sent anew on purpose.
func TestRelayForgottenWithoutResponse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *buffer.Buffer {
		b := openBufferWith(t, buffer.Options{Dir: dir, Sync: buffer.SyncNever})
		b.Drain(t.Context())
		return b
	}
	b := openBufferWith(t, buffer.Options{Dir: dir, Sync: buffer.SyncNever})
	fillMany(t, b, 1)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeRelays{chosen: idA, answer: func(relay.Name, int) error {
		cancel()
		return failure(store.ErrUnavailable)
	}}
	if _, err := run(ctx, upload.Options{Buffer: b, Store: f}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	first := f.names[0]
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	forgotten := func(n relay.Name, _ int) error {
		if n == first {
			return &store.Error{Op: "send", Object: "x", Class: relay.ErrForgotten}
		}
		return nil
	}
	b = open()
	f = &fakeRelays{chosen: idA, answer: forgotten}
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: f, Backoff: upload.Backoff{Min: time.Millisecond, Max: time.Millisecond}})
	if err != nil || stats.Quarantined != 1 || len(f.taken) > 0 {
		t.Fatalf("%+v, %v, taken %v", stats, err, f.taken)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := spool.ListQuarantine(dir)
	if err != nil || len(all) != 1 || !strings.Contains(all[0].Reason, "shipper resend") {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := spool.Requeue(t.Context(), dir, all); err != nil {
		t.Fatal(err)
	}
	if n, err := spool.Resend(dir, idA); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	b = open()
	f = &fakeRelays{chosen: idA, answer: forgotten}
	if stats, err := run(t.Context(), upload.Options{Buffer: b, Store: f}); err != nil || stats.Segments != 1 || len(f.names) != 2 {
		t.Errorf("%+v, %v, sent as %v", stats, err, f.names)
	}
}

// Batches of a service that the relay does not allow wait without delaying those of others, however many there are, and are delivered when it
// is allowed, with numbers of their own if theirs are forgotten.
func TestRelayNotAllowed(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	const denied, allowed = 200, 50
	for i := range denied + allowed {
		service := "denied"
		if i >= denied {
			service = "allowed"
		}
		one := record.Record{Time: int64(i+1) * int64(time.Hour), Source: "-", Message: []byte("x")}
		if _, err := b.Append(t.Context(), buffer.Chunk{Service: service, Records: []record.Record{one}}); err != nil {
			t.Fatal(err)
		}
	}
	b.Drain(t.Context())
	f := &fakeRelays{chosen: idA}
	var low int64 // the highest floor
	requests, delivered := 0, 0
	open := make(chan struct{})
	f.check = func(n relay.Name, service string, floor int64) error {
		main := !strings.Contains(n.Sender, "-")
		switch {
		case service == "denied" && delivered < allowed:
			requests++
			return &store.Error{Op: "send", Object: "x", Class: store.ErrAccessDenied, Err: relay.ErrNotAllowed}
		case main && n.Seq < low:
			return &store.Error{Op: "send", Object: "x", Class: relay.ErrForgotten}
		case main:
			low = max(low, floor)
		}
		if delivered++; delivered == allowed {
			close(open)
		}
		return nil
	}
	stats, err := run(t.Context(), upload.Options{
		Buffer: b, Store: f, Workers: 2, Backoff: upload.Backoff{Min: time.Millisecond, Max: 300 * time.Millisecond},
	})
	if err != nil || stats.Segments != denied+allowed {
		t.Errorf("%+v, %v", stats, err)
	}
	<-open
	if requests > 20 {
		t.Errorf("%d requests for the service that is not allowed", requests)
	}
}

// A segment that a relay rejects is quarantined once others are taken.
func TestRelayRejects(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	fillMany(t, b, 5)
	f := &fakeRelays{chosen: idA}
	var bad int64
	f.answer = func(n relay.Name, sent int) error {
		if sent == 1 {
			bad = n.Seq
		}
		if n.Seq == bad {
			return failure(store.ErrInvalid)
		}
		return nil
	}
	stats, err := upTo(t, f, b, upload.Options{Workers: 1})
	if err != nil || stats.Quarantined != 1 || stats.Segments != 4 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// A segment that a relay rejects starts anew if it is brought back from the quarantine, unless a response to it was lost before.
func TestRelayRejectedStaysBound(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		dir := t.TempDir()
		b := openBufferWith(t, buffer.Options{Dir: dir, Sync: buffer.SyncNever})
		fillMany(t, b, 5)
		f := &fakeRelays{chosen: idA}
		var bad int64
		f.answer = func(n relay.Name, sent int) error {
			if sent == 1 {
				bad = n.Seq
				if lost {
					return failure(store.ErrUnavailable)
				}
			}
			if n.Seq == bad {
				return failure(store.ErrInvalid)
			}
			return nil
		}
		if stats, err := upTo(t, f, b, upload.Options{Workers: 1}); err != nil || stats.Quarantined != 1 {
			t.Fatalf("%+v, %v", stats, err)
		}
		if all, err := spool.ListQuarantine(dir); err != nil || len(all) != 1 || (all[0].Name != "") != lost {
			t.Errorf("lost %v: %+v, %v", lost, all, err)
		}
	}
}

// With RetryFor, relays that are away are given up.
func TestRelayGivesUp(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*fakeRelays{
		"none":  {},
		"bound": {chosen: idA, answer: func(relay.Name, int) error { return failure(store.ErrUnavailable) }},
	} {
		b := openBuffer(t)
		fillMany(t, b, 3)
		_, err := upTo(t, f, b, upload.Options{RetryFor: 30 * time.Millisecond})
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if st := b.Stats(); st.Waiting != 3 {
			t.Error(name, fmt.Sprintf("%+v", st))
		}
	}
}
