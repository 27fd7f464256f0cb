package upload_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
	"logstow/record"
	"logstow/store"
	"logstow/upload"
)

// fillServices appends n batches of a record each, of services in turn, and drains.
func fillServices(t *testing.T, b *buffer.Buffer, n, services int) {
	t.Helper()
	for i := range n {
		at := start.UnixNano()
		c := buffer.Chunk{Service: fmt.Sprintf("s%02d", i%services), Read: at, Records: []record.Record{{Time: at, Source: "s", Message: []byte("line")}}}
		if _, err := b.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		b.Flush(t.Context())
	}
	b.Drain(t.Context())
}

// distant is a store whose requests take a latency. It has the names taken.
type distant struct {
	mu                   sync.Mutex
	names                map[string]bool
	created              []time.Time
	inFlight, most, fail int
}

// store returns the store. Creates beyond capacity are throttled; 0 is no limit.
func (d *distant) store(latency time.Duration, capacity int) *faulty {
	d.names = map[string]bool{}
	return &faulty{
		Store: nowhere{},
		create: func(_ int, name string, _ func() (string, error)) (string, error) {
			d.mu.Lock()
			d.inFlight++
			d.most = max(d.most, d.inFlight)
			throttled := capacity > 0 && d.inFlight > capacity
			d.mu.Unlock()
			time.Sleep(latency)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.inFlight--
			switch {
			case throttled:
				d.fail++
				return "", failure(store.ErrThrottled)
			case d.names[name]:
				return "", failure(store.ErrExists)
			}
			d.names[name] = true
			d.created = append(d.created, time.Now())
			return "etag", nil
		},
		upsert: func(int, string, func() error) error { time.Sleep(latency); return nil },
	}
}

// With a latency of 50 ms a run stores a thousand small segments a second, of any number of services, and also indexes them;
// with a latency of 1 s sixty. None of the names conflict.
func TestUploadRate(t *testing.T) {
	t.Parallel()
	const batches = 3000
	for _, c := range []struct {
		services int
		latency  time.Duration
		want     int
	}{{1, 50 * time.Millisecond, 1000}, {40, 50 * time.Millisecond, 1000}, {40, time.Second, 60}} {
		synctest.Test(t, func(t *testing.T) {
			b := openBuffer(t)
			fillServices(t, b, batches, c.services)
			var d distant
			began := time.Now()
			u := upload.New(upload.Options{Buffer: b, Store: d.store(c.latency, 0)})
			if err := u.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			from := d.created[batches/3]
			rate := float64(batches-1-batches/3) / d.created[batches-1].Sub(from).Seconds()
			index := time.Since(d.created[batches-1])
			t.Logf("%d services, %v: %.0f segments a second, %v until the first third, indexed %v after the last", c.services, c.latency, rate, from.Sub(began), index)
			if int(rate) < c.want || from.Sub(began) > 20*c.latency+time.Duration(batches/3)*time.Second/time.Duration(c.want) || index > 10*time.Second {
				t.Errorf("%d services, %v: %.0f segments a second, %v until the first third, indexed %v after the last", c.services, c.latency, rate, from.Sub(began), index)
			}
			if s := u.Stats(); s.Conflicts != 0 || d.most != 64 || u.Limits()["nowhere"] != 64 {
				t.Errorf("%+v, at most %d in flight, limits %v", s, d.most, u.Limits())
			}
		})
	}
}

// A store that throttles gets about as many requests as it takes, and each batch is stored once.
func TestUploadThrottled(t *testing.T) {
	t.Parallel()
	for _, routed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const batches = 2000
			b := openBuffer(t)
			fillServices(t, b, batches, 10)
			var d distant
			s := d.store(50*time.Millisecond, 20)
			opts := upload.Options{Buffer: b, Store: s, StoreName: "only", Backoff: upload.Backoff{Min: 100 * time.Millisecond, Max: time.Second}}
			if routed {
				opts.Route = func(string, string) string { return "other" }
				opts.Stores = func(context.Context, string) (store.Store, error) { return s, nil }
			}
			began := time.Now()
			if _, err := run(t.Context(), withWorkers(opts, 64)); err != nil {
				t.Fatal(err)
			}
			t.Logf("routed %t: %v, %d throttled, at most %d in flight", routed, time.Since(began), d.fail, d.most)
			if len(d.created) != batches || d.fail > batches/8 || d.most > 48 || time.Since(began) > 15*time.Second {
				t.Errorf("routed %t: %d of %d stored in %v, %d throttled, at most %d in flight", routed, len(d.created), batches, time.Since(began), d.fail, d.most)
			}
		})
	}
}

func withWorkers(opts upload.Options, n int) upload.Options {
	opts.Workers = n
	return opts
}

// Memory bounds the limit: what waits for it stays in the buffer.
func TestUploadLargeBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		fillServices(t, b, 200, 1)
		var d distant
		u := upload.New(upload.Options{Buffer: b, Store: d.store(time.Second, 0), Memory: 1}) // one at a time
		done := make(chan error, 1)
		go func() { done <- u.Run(t.Context()) }()
		time.Sleep(time.Minute + time.Millisecond)
		synctest.Wait()
		if st := b.Stats(); st.Sending > 4 || st.Waiting < 130 || u.Limits()["nowhere"] != 4 {
			t.Errorf("%+v, limits %v", st, u.Limits())
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// While a store fails, batches beyond Memory stay in the buffer, which may have to drop them, also after small batches have raised
// the limit.
func TestUploadOutageAfterGrowth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		var d distant
		s := d.store(50*time.Millisecond, 0)
		var down atomic.Bool
		create := s.create
		s.create = func(n int, name string, call func() (string, error)) (string, error) {
			if down.Load() {
				return "", failure(store.ErrUnavailable)
			}
			return create(n, name, call)
		}
		u := upload.New(upload.Options{Buffer: b, Store: s, Memory: 1 << 20})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- u.Run(ctx) }()
		for range 2000 {
			fill(t, b, "small")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := u.Limits()["nowhere"]; n != 64 || len(d.created) != 2000 {
			t.Fatalf("the limit is %d, %d stored", n, len(d.created))
		}
		down.Store(true)
		random := rand.NewChaCha8([32]byte{})
		for range 30 { // of more than a third of Memory each
			message := make([]byte, 400<<10)
			_, _ = random.Read(message)
			c := buffer.Chunk{Service: "x", Read: start.UnixNano(), Records: []record.Record{{Time: start.UnixNano(), Source: "s", Message: message}}}
			if _, err := b.Append(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			b.Flush(t.Context())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if st := b.Stats(); st.Sending > 3 || st.Waiting+st.Sending != 30 {
			t.Errorf("%+v", st)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// Of the numbers of each draw that others have taken, one is tried, however many batches are in flight.
func TestUploadConflicts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const batches = 500
		b := openBuffer(t)
		fillServices(t, b, batches, 1)
		var d distant
		s := d.store(50*time.Millisecond, 0)
		taken := func(number int) { d.names[fmt.Sprintf("s00/2026/11/20/1500/%06d.log", number)] = true }
		taken(1)
		runs := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 13} // as drawn: those of others
		for _, r := range runs {
			for i := range 49 {
				taken((1+r)*50 + 1 + i)
			}
		}
		var mu sync.Mutex
		draws := uint64(0)
		u := upload.New(upload.Options{Buffer: b, Store: s, Random: func(uint64) uint64 {
			mu.Lock()
			defer mu.Unlock()
			draws++
			return draws - 1
		}})
		if err := u.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := u.Stats(); st.Segments != batches || st.Conflicts != uint64(1+len(runs)) {
			t.Errorf("%+v, want %d conflicts", st, 1+len(runs))
		}
	})
}
