package limits_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/serve/limits"
)

// begin begins a query in the background, and reports its token to ran once it runs; it ends with release.
func begin(t *testing.T, l *limits.Limiter, token string, ran chan<- string, release <-chan struct{}) {
	t.Helper()
	go func() {
		_, done, err := l.Query(context.Background(), limits.Records, token)
		if err != nil {
			ran <- err.Error()
			return
		}
		ran <- token
		<-release
		done()
	}()
}

// Queries that wait run in turns of their tokens, those of a token in order; more than the queue has places for fail at once.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 5})
		ran, release := make(chan string, 10), make(chan struct{})
		for _, token := range []string{"first", "a", "a", "a", "b", "c"} {
			begin(t, l, token, ran, release)
			synctest.Wait()
		}
		if s := l.State(); s.Running[limits.Records] != 1 || s.Waiting[limits.Records] != 5 {
			t.Errorf("%+v", s)
		}
		if _, _, err := l.Query(t.Context(), limits.Records, "a"); !errors.Is(err, limits.ErrQueue) {
			t.Errorf("a seventh: %v", err)
		}
		var order []string
		for range 6 {
			order = append(order, <-ran)
			release <- struct{}{}
			synctest.Wait()
		}
		if got := strings.Join(order, " "); got != "first a b c a a" {
			t.Errorf("ran %s", got)
		}
		if s := l.State(); s != (limits.State{}) {
			t.Errorf("%+v", s)
		}
	})
}

// A client that goes while it waits leaves its place, and waiting has an end.
func TestQueueLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 2, MaxDuration: time.Minute})
		_, done, err := l.Query(t.Context(), limits.Records, "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, _, err := l.Query(ctx, limits.Records, "a"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		began := time.Now()
		if _, _, err := l.Query(t.Context(), limits.Records, "a"); !errors.Is(err, limits.ErrQueue) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if s := l.State(); s.Running[limits.Records] != 1 || s.Waiting[limits.Records] != 0 {
			t.Errorf("%+v", s)
		}
		done()
		if s := l.State(); s.Running[limits.Records] != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A token holds all slots but one, so that the query of another runs at once; then it waits although a slot is free. Without tokens
// all slots are used.
func TestShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits.New(limits.Options{MaxQueries: 4, MaxQueued: 10})
		ran, release := make(chan string, 20), make(chan struct{})
		want := func(now string, running, waiting int) {
			t.Helper()
			synctest.Wait()
			var got []string
			for len(ran) > 0 {
				got = append(got, <-ran)
			}
			if s := l.State(); strings.Join(got, " ") != now || s.Running[limits.Records] != running || s.Waiting[limits.Records] != waiting {
				t.Errorf("ran %q, want %q; %+v", got, now, s)
			}
		}
		for range 8 {
			begin(t, l, "heavy", ran, release)
		}
		want("heavy heavy heavy", 3, 5)
		begin(t, l, "light", ran, release)
		want("light", 4, 5)
		begin(t, l, "light", ran, release)
		want("", 4, 6)
		for range 3 { // whichever ends, one slot stays free of heavy
			release <- struct{}{}
			synctest.Wait()
			if s := l.State(); s.Running[limits.Records] < 3 {
				t.Errorf("slots are unused: %+v", s)
			}
		}
		for len(ran) > 0 {
			<-ran
		}
		for l.State().Running[limits.Records] > 0 {
			release <- struct{}{}
			synctest.Wait()
		}
		if s := l.State(); s != (limits.State{}) {
			t.Errorf("%+v", s)
		}
		for len(ran) > 0 {
			<-ran
		}
		for range 5 {
			begin(t, l, "", ran, release)
		}
		want("   ", 4, 1)
		for range 5 {
			release <- struct{}{}
			synctest.Wait()
		}
	})
}

// Queries of metadata do not wait for others, nor the others for them.
func TestLanes(t *testing.T) {
	t.Parallel()
	l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 0})
	for _, lane := range []limits.Lane{limits.Records, limits.Metadata} {
		if _, _, err := l.Query(t.Context(), lane, "a"); err != nil {
			t.Errorf("the first of lane %d: %v", lane, err)
		}
	}
	if _, _, err := l.Query(t.Context(), limits.Metadata, "a"); !errors.Is(err, limits.ErrQueue) {
		t.Errorf("a second of metadata: %v", err)
	}
}

// A token that fills all places to wait keeps none from waiting: the last of the longest line is rejected for it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 4})
		ran, release := make(chan string, 20), make(chan struct{})
		come := func(token, rejected string) {
			t.Helper()
			before := l.State()
			begin(t, l, token, ran, release)
			synctest.Wait()
			if s := l.State(); rejected != "" && s != before {
				t.Errorf("after %s: %+v", token, s)
			}
			switch {
			case rejected == "" && len(ran) > 0:
				t.Errorf("%s: %s", token, <-ran)
			case rejected != "" && len(ran) == 0:
				t.Errorf("%s: none is rejected", token)
			case rejected != "":
				if got := <-ran; got != rejected {
					t.Errorf("%s: %s", token, got)
				}
			}
		}
		full := limits.ErrQueue.Error()
		begin(t, l, "heavy", ran, release)
		synctest.Wait()
		<-ran
		for range 4 {
			come("heavy", "")
		}
		come("heavy", full)
		for _, token := range []string{"b", "c", "d"} { // in place of one of heavy each
			come(token, full)
		}
		come("heavy", full)
		come("e", full) // each has one place
		var order []string
		for range 4 {
			release <- struct{}{}
			synctest.Wait()
			order = append(order, <-ran)
		}
		if got := strings.Join(order, " "); got != "heavy b c d" {
			t.Errorf("ran %s", got)
		}
		release <- struct{}{}
	})
}

// However queries come, wait and go, no more run than may, and no slot is lost.
func TestQueueConcurrent(t *testing.T) {
	t.Parallel()
	l := limits.New(limits.Options{MaxQueries: 3, MaxQueued: 100})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%10)*100*time.Microsecond)
			defer cancel()
			_, done, err := l.Query(ctx, limits.Records, string(rune('a'+i%4)))
			if err != nil {
				return
			}
			if s := l.State(); s.Running[limits.Records] > 3 {
				t.Errorf("%d run", s.Running[limits.Records])
			}
			done()
		})
	}
	all.Wait()
	if s := l.State(); s.Running[limits.Records] != 0 || s.Waiting[limits.Records] != 0 {
		t.Errorf("%+v", s)
	}
}

// A query that takes too long ends with a cause; waiting does not count.
func TestDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 1, MaxDuration: time.Minute})
		_, done, err := l.Query(t.Context(), limits.Records, "a")
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(40*time.Second, done)
		ctx, done, err := l.Query(t.Context(), limits.Records, "a")
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		began := time.Now()
		<-ctx.Done()
		if d := time.Since(began); d != time.Minute || !errors.Is(context.Cause(ctx), limits.ErrDuration) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("after %v: %v", d, context.Cause(ctx))
		}
	})
}

// Requests that follow new records have places of their own and end after an hour.
func TestTail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 2, MaxDuration: time.Minute})
		first, done, err := l.Tail(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Tail(t.Context(), "a"); !errors.Is(err, limits.ErrTails) {
			t.Errorf("a token has all of them: %v", err)
		}
		_, second, err := l.Tail(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Tail(t.Context(), "c"); !errors.Is(err, limits.ErrTails) {
			t.Errorf("a third: %v", err)
		}
		_, query, err := l.Query(t.Context(), limits.Records, "a")
		if err != nil {
			t.Errorf("a query beside them: %v", err)
		}
		query()
		began := time.Now()
		<-first.Done()
		if d := time.Since(began); d != time.Hour {
			t.Errorf("ended after %v", d)
		}
		done()
		second()
		if s := l.State(); s.Tails != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// Queries of a day never cost more than its budget, and the next day has a new one.
func TestDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	l := limits.New(limits.Options{MaxQueries: 100, MaxCost: 0.4, MaxCostPerDay: 1, MaxBytes: 7, Now: func() time.Time { return now }})
	var running []func()
	var sum float64
	for i := range 20 {
		ctx, done, err := l.Query(t.Context(), limits.Records, "a")
		if errors.Is(err, limits.ErrDay) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		q := limits.FromContext(ctx)
		if q.MaxBytes != 7 || q.MaxCost <= 0 || q.MaxCost > 0.4 || i == 0 && q.MaxCost != 0.4 {
			t.Fatalf("query %d: %+v", i, q)
		}
		running = append(running, done)
		sum += q.MaxCost
		_ = q.Add(1, q.MaxCost/2)
		_ = q.Add(1, q.MaxCost/2)
		if bytes, cost := q.Read(); bytes != 2 || math.Abs(cost-q.MaxCost) > 1e-9 {
			t.Errorf("read %d, %v", bytes, cost)
		}
	}
	if sum > 1 || sum < 0.99 {
		t.Errorf("%d queries cost %v", len(running), sum)
	}
	if _, _, err := l.Query(t.Context(), limits.Records, "a"); !errors.Is(err, limits.ErrDay) || l.RetryAfter(err) != time.Hour {
		t.Errorf("%v, retry after %v", err, l.RetryAfter(err))
	}
	if _, _, err := l.Tail(t.Context(), "a"); !errors.Is(err, limits.ErrDay) {
		t.Errorf("tail: %v", err)
	}
	for _, done := range running {
		done()
	}
	now = now.Add(time.Hour)
	ctx, done, err := l.Query(t.Context(), limits.Records, "a")
	if err != nil || l.State().SpentToday != 0 {
		t.Fatalf("the next day: %v, %+v", err, l.State())
	}
	if got := limits.FromContext(ctx).MaxCost; got != 0.4 {
		t.Errorf("the next day %v is free", got)
	}
	done()
}

// A query that ends gives back what it did not use, and a tail learns that the budget is spent.
func TestDayUnused(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 1, MaxCostPerDay: 1, Now: func() time.Time { return now }})
	for range 1000 {
		ctx, done, err := l.Query(t.Context(), limits.Records, "a")
		if err != nil {
			t.Fatal(err)
		}
		if got := limits.FromContext(ctx).MaxCost; got != 0.5 {
			t.Fatalf("%v", got)
		}
		done()
	}
	ctx, done, err := l.Tail(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	q := limits.FromContext(ctx)
	if err := q.Add(1, 0.5); err != nil {
		t.Error(err)
	}
	if err := q.Add(1, 0.5); !errors.Is(err, limits.ErrDay) {
		t.Error(err)
	}
	if got := l.State(); got.SpentToday != 1 || got.Tails != 1 {
		t.Errorf("%+v", got)
	}
}

// Other costs count: they end a tail, queries are rejected, and a new day begins without those of the one before.
func TestOtherCost(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	other := 5.0 // before the limiter
	l := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 1, MaxCostPerDay: 1, Now: func() time.Time { return now }, OtherCost: func() float64 { return other }})
	want := func(spent float64, tail, query error) {
		t.Helper()
		ctx, done, err := l.Tail(t.Context(), "a")
		if !errors.Is(err, tail) || err == nil && !errors.Is(limits.FromContext(ctx).Add(0, 0), tail) {
			t.Errorf("a tail: %v", err)
		}
		if err == nil {
			done()
		}
		if _, done, err := l.Query(t.Context(), limits.Records, "a"); !errors.Is(err, query) {
			t.Errorf("a query: %v", err)
		} else if err == nil {
			done()
		}
		if got := l.State().SpentToday; math.Abs(got-spent) > 1e-9 {
			t.Errorf("spent %v, want %v", got, spent)
		}
	}
	want(0, nil, nil)
	other += 0.6
	want(0.6, nil, nil)
	ctx, done, err := l.Tail(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other += 0.4
	if err := limits.FromContext(ctx).Add(1, 0); !errors.Is(err, limits.ErrDay) {
		t.Errorf("the tail goes on: %v", err)
	}
	done()
	want(1, limits.ErrDay, limits.ErrDay)
	now = now.Add(12 * time.Hour)
	want(0, nil, nil)
}

// Tails cost what they read without a reservation: a query is rejected rather than run without a limit when they and the queries
// that run need all that is left.
func TestDayReserved(t *testing.T) {
	t.Parallel()
	for _, most := range []float64{0, 0.5} {
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		l := limits.New(limits.Options{MaxQueries: 2, MaxQueued: 1, MaxCost: most, MaxCostPerDay: 1, Now: func() time.Time { return now }})
		_, running, err := l.Query(t.Context(), limits.Records, "a")
		if err != nil {
			t.Fatal(err)
		}
		following, tail, err := l.Tail(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := limits.FromContext(following).Add(1, 0.6); err != nil {
			t.Fatal(err)
		}
		if ctx, _, err := l.Query(t.Context(), limits.Records, "b"); !errors.Is(err, limits.ErrReserved) || l.RetryAfter(err) > time.Minute {
			t.Fatalf("%v: %+v", err, limits.FromContext(ctx))
		}
		running()
		ctx, done, err := l.Query(t.Context(), limits.Records, "b")
		if err != nil {
			t.Fatal(err)
		}
		if got := limits.FromContext(ctx).MaxCost; math.Abs(got-0.2) > 1e-9 {
			t.Errorf("%v may cost %v", most, got)
		}
		done()
		tail()
		if s := l.State(); s.Running[limits.Records] != 0 || s.Waiting[limits.Records] != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// Without limits there are none.
func TestUnlimited(t *testing.T) {
	t.Parallel()
	q := limits.FromContext(context.Background())
	if err := q.Add(1<<40, 1e6); err != nil || q.MaxBytes != 0 || q.MaxCost != 0 {
		t.Errorf("%v, %+v", err, q)
	}
	l := limits.New(limits.Options{MaxQueries: 1})
	ctx, done, err := l.Query(t.Context(), limits.Records, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if q := limits.FromContext(ctx); q.MaxCost != 0 || q.Add(1, 1e6) != nil {
		t.Errorf("%+v", q)
	}
	if _, ok := ctx.Deadline(); ok {
		t.Error("it has a deadline")
	}
}
