package upload_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/store"
	"logstow/upload"
)

// nowhere is a store for a faulty one that passes no call on.
type nowhere struct{}

func (nowhere) Blobs() store.Blobs     { return nil }
func (nowhere) Compacted() store.Blobs { return nil }
func (nowhere) Tables() store.Tables   { return nil }
func (nowhere) Container() string      { return "nowhere" }
func (nowhere) String() string         { return "nowhere" }
func (nowhere) Close() error           { return nil }

func (nowhere) Now(context.Context) (time.Time, error) { return time.Time{}, nil }

// timed uploads one batch with creates that fail with errs one after the other, and returns the
// delays between them.
func timed(t *testing.T, opts upload.Options, errs ...error) (waits []time.Duration, log string, err error) {
	t.Helper()
	b := openBuffer(t)
	fillMany(t, b, 1)
	var out bytes.Buffer
	last := time.Now()
	opts.Buffer, opts.Workers, opts.Log = b, 1, slog.New(slog.NewTextHandler(&out, nil))
	opts.Random = func(n uint64) uint64 { return n - 1 } // the longest wait
	opts.Store = &faulty{
		Store: nowhere{},
		create: func(n int, _ string, _ func() (string, error)) (string, error) {
			if n > 1 {
				waits = append(waits, time.Since(last))
			}
			last = time.Now()
			if n <= len(errs) {
				return "", errs[n-1]
			}
			return "etag", nil
		},
		upsert: func(int, string, func() error) error { return nil },
	}
	err = upload.New(opts).Run(t.Context())
	return waits, out.String(), err
}

func equalWaits(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("waits %v, want %v", got, want)
	}
	for i := range want {
		if got[i].Round(time.Millisecond) != want[i] {
			t.Fatalf("waits %v, want %v", got, want)
		}
	}
}

func TestBackoffGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failure(store.ErrUnavailable)
		waits, _, err := timed(t, upload.Options{Backoff: upload.Backoff{Min: time.Second, Max: 10 * time.Second}}, e, e, e, e, e, e)
		if err != nil {
			t.Error(err)
		}
		equalWaits(t, waits, time.Second, 2*time.Second, 4*time.Second, 8*time.Second, 10*time.Second, 10*time.Second)
	})
}

func TestBackoffHasJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		fillMany(t, b, 1)
		began := time.Now()
		var took time.Duration
		faults := &faulty{
			Store: nowhere{},
			create: func(n int, _ string, _ func() (string, error)) (string, error) {
				if took = time.Since(began); n == 1 {
					return "", failure(store.ErrThrottled)
				}
				return "etag", nil
			},
			upsert: func(int, string, func() error) error { return nil },
		}
		shortest := func(uint64) uint64 { return 0 }
		err := upload.New(upload.Options{Buffer: b, Store: faults, Random: shortest, Backoff: upload.Backoff{Min: 8 * time.Second}}).Run(t.Context())
		if err != nil || took != 4*time.Second {
			t.Errorf("took %v, %v", took, err)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := func(d time.Duration) error {
			e := failure(store.ErrThrottled)
			e.RetryAfter = d
			return e
		}
		waits, _, err := timed(t, upload.Options{}, asked(30*time.Second), asked(time.Millisecond), asked(24*time.Hour))
		if err != nil {
			t.Error(err)
		}
		equalWaits(t, waits, 30*time.Second, time.Second, upload.MaxRetryAfter)
	})
}

func TestAccessDeniedIsRetriedSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failure(store.ErrAccessDenied)
		waits, log, err := timed(t, upload.Options{}, e, e)
		if err != nil {
			t.Error(err)
		}
		equalWaits(t, waits, time.Minute, time.Minute)
		if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "grant the role and it continues") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// A failure that lasts until an operator acts is not called a denied access if it is none.
func TestUnusableStoreIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failure(store.ErrUnusable)
		waits, log, err := timed(t, upload.Options{}, e)
		if err != nil {
			t.Error(err)
		}
		equalWaits(t, waits, time.Minute)
		if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "failed; correct the cause and it continues") || strings.Contains(log, "grant") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// An outage is logged at its start, then once a minute, and at its end.
func TestOutageIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := failure(store.ErrUnavailable)
		e.Status, e.Code, e.RequestID = 503, "ServerBusy", "abc-123"
		errs := make([]error, 40) // five seconds apart: 200 seconds
		for i := range errs {
			errs[i] = e
		}
		_, log, err := timed(t, upload.Options{Backoff: upload.Backoff{Min: 5 * time.Second, Max: 5 * time.Second}}, errs...)
		if err != nil {
			t.Error(err)
		}
		lines := strings.Split(strings.TrimSpace(log), "\n")
		if len(lines) != 5 || !strings.Contains(lines[0], "status=503 code=ServerBusy request_id=abc-123") || !strings.Contains(lines[4], "recovered") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// An intermittent outage is logged once a minute, too.
func TestIntermittentOutageIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		fillMany(t, b, 100)
		var out bytes.Buffer
		faults := &faulty{
			Store: nowhere{},
			create: func(n int, _ string, _ func() (string, error)) (string, error) {
				if n%2 == 1 {
					return "", failure(store.ErrThrottled)
				}
				return "etag", nil
			},
			upsert: func(int, string, func() error) error { return nil },
		}
		err := upload.New(upload.Options{
			Buffer: b, Store: faults, Workers: 1, Log: slog.New(slog.NewTextHandler(&out, nil)),
			Backoff: upload.Backoff{Min: 2 * time.Second, Max: 2 * time.Second}, Random: func(n uint64) uint64 { return n - 1 },
		}).Run(t.Context()) // 200 seconds
		if warned := strings.Count(out.String(), "level=WARN"); err != nil || warned != 4 || strings.Count(out.String(), "\n") > 2*warned {
			t.Errorf("%v, log:\n%s", err, out.String())
		}
	})
}

func TestRetryForEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		errs := make([]error, 1000)
		for i := range errs {
			errs[i] = failure(store.ErrUnavailable)
		}
		waits, _, err := timed(t, upload.Options{RetryFor: 30 * time.Second}, errs...)
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "gave up after 30s") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v, tries after %v", took, waits)
		}
	})
}

func TestEndDuringBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		fillMany(t, b, 2)
		faults := &faulty{Store: nowhere{}, create: func(int, string, func() (string, error)) (string, error) {
			return "", failure(store.ErrUnavailable)
		}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 25*time.Second, errors.New("time is up"))
		defer cancel()
		began := time.Now()
		err := upload.New(upload.Options{Buffer: b, Store: faults}).Run(ctx)
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "time is up") || time.Since(began) != 25*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if st := b.Stats(); st.Waiting != 2 {
			t.Errorf("buffer: %+v", st)
		}
	})
}

// Entities wait to be written together with others.
func TestIndexEntitiesAreGrouped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		var upserts []time.Duration
		began := time.Now()
		faults := &faulty{
			Store:  nowhere{},
			create: func(int, string, func() (string, error)) (string, error) { return "etag", nil },
			upsert: func(int, string, func() error) error {
				upserts = append(upserts, time.Since(began))
				return nil
			},
		}
		done := make(chan error, 1)
		go func() {
			done <- upload.New(upload.Options{Buffer: b, Store: faults, IndexWait: 5 * time.Second}).Run(t.Context())
		}()
		for range 4 {
			fill(t, b, "a batch a second")
			time.Sleep(time.Second)
		}
		time.Sleep(16 * time.Second)
		fillMany(t, b, 1) // the last ones do not wait
		if err := <-done; err != nil {
			t.Error(err)
		}
		equalWaits(t, upserts, 5*time.Second, 20*time.Second)
	})
}
