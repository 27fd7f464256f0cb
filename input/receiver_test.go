package input_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/record"
)

// receiver makes a Receiver of the service x that reads at noon.
func receiver(t *testing.T, opts input.Options) *input.Receiver {
	t.Helper()
	opts.Service, opts.Now = "x", noon
	r, err := input.NewReceiver(opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReceive(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	r := receiver(t, input.Options{Sink: &s, Stats: &stats, SourcePrefix: "p/"})
	hour := func(h int) int64 { return time.Date(2026, 11, 20, h, 0, 0, 0, time.UTC).UnixNano() }
	err := r.Receive(t.Context(), "", []input.Event{
		{Time: hour(9), Level: record.Warn, Source: "a", Message: []byte("2026-11-20T10:00:00Z ERROR its own word goes first")},
		{Source: "a", Message: []byte("2026-11-20T10:00:00Z ERROR found")},
		{Source: "a", Message: []byte("not of the time before")},
		{Source: "b\n", Message: []byte("of the time read")},
		{Time: hour(9), Source: "b", Message: []byte("2026-11-20T10:00:00Z ERROR level found")},
		{Level: record.Info, Source: "b", Message: []byte("2026-11-20T10:00:00Z ERROR time found")},
		{Time: hour(9) + int64(48*time.Hour), Source: "b", Message: []byte("too far ahead")},
		{Time: 1, Source: "b", Message: []byte("too old")},
		{Time: -1, Source: "b", Message: nil},
		{Message: []byte("1985-01-01T00:00:00Z too old")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []got{
		{"p/a", "09:00:00", "WARN", "2026-11-20T10:00:00Z ERROR its own word goes first"},
		{"p/a", "10:00:00", "ERROR", "2026-11-20T10:00:00Z ERROR found"},
		{"p/a", "12:00:00", "-", "not of the time before"},
		{"p/b_", "12:00:00", "-", "of the time read"},
		{"p/b", "09:00:00", "ERROR", "2026-11-20T10:00:00Z ERROR level found"},
		{"p/b", "10:00:00", "INFO", "2026-11-20T10:00:00Z ERROR time found"},
		{"p/b", "12:00:00", "-", "too far ahead"},
		{"p/b", "12:00:00", "-", "too old"},
		{"p/b", "12:00:00", "-", ""},
		{"p/", "12:00:00", "-", "1985-01-01T00:00:00Z too old"},
	}
	if diff := cmp.Diff(want, s.got()); diff != "" {
		t.Error(diff)
	}
	if s.chunks != 1 || stats.Records.Load() != 10 || stats.TimesRejected.Load() != 4 {
		t.Errorf("%d chunks, %d records, %d refused", s.chunks, stats.Records.Load(), stats.TimesRejected.Load())
	}
}

func TestTimeFrom(t *testing.T) {
	t.Parallel()
	const earlier, later = "10:00:00", "11:00:00"
	hour := func(h int) int64 { return time.Date(2026, 11, 20, h, 0, 0, 0, time.UTC).UnixNano() }
	for _, c := range []struct {
		name    string
		sent    int64
		message string
		want    map[input.TimeFrom]string
	}{
		{"earlier line", hour(11), "2026-11-20 10:00:00 x", map[input.TimeFrom]string{input.TimeAuto: earlier, input.TimeLine: earlier, input.TimeProtocol: later}},
		{"same", hour(11), "2026-11-20 11:00:00 x", map[input.TimeFrom]string{input.TimeAuto: later, input.TimeLine: later, input.TimeProtocol: later}},
		{"later line", hour(10), "2026-11-20 11:00:00 x", map[input.TimeFrom]string{input.TimeAuto: earlier, input.TimeLine: later, input.TimeProtocol: earlier}},
		{"no time", hour(11), "x", map[input.TimeFrom]string{input.TimeAuto: later, input.TimeLine: later, input.TimeProtocol: later}},
		{"line rejected", hour(11), "1980-11-20 10:00:00 x", map[input.TimeFrom]string{input.TimeAuto: later, input.TimeLine: later, input.TimeProtocol: later}},
		{"sent rejected", 1, "2026-11-20 10:00:00 x", map[input.TimeFrom]string{input.TimeAuto: earlier, input.TimeLine: earlier, input.TimeProtocol: "12:00:00"}},
		{"sent rejected, line ahead", 1, "2026-11-20 13:00:00 x", map[input.TimeFrom]string{input.TimeAuto: "13:00:00", input.TimeLine: "13:00:00", input.TimeProtocol: "12:00:00"}},
		{"nothing sent", 0, "2026-11-20 10:00:00 x", map[input.TimeFrom]string{input.TimeAuto: earlier, input.TimeLine: earlier, input.TimeProtocol: earlier}},
		{"wrapped", hour(11), `{"log":"2026-11-20 10:00:00 \"x\"","stream":"stdout"}`, map[input.TimeFrom]string{input.TimeAuto: earlier, input.TimeLine: earlier, input.TimeProtocol: later}},
	} {
		c.want[input.TimeDefault] = c.want[input.TimeAuto]
		for from, want := range c.want {
			for _, level := range []record.Level{record.None, record.Warn} {
				var s sink
				r := receiver(t, input.Options{Sink: &s, TimeFrom: from})
				if err := r.Receive(t.Context(), "", []input.Event{{Time: c.sent, Level: level, Message: []byte(c.message)}}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]got{{"-", want, level.String(), c.message}}, s.got()); diff != "" {
					t.Errorf("%s, from %d: %s", c.name, from, diff)
				}
			}
		}
	}
}

func TestReceiveCuts(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	r := receiver(t, input.Options{Sink: &s, Stats: &stats, MaxRecord: input.MinMaxRecord})
	long := bytes.Repeat([]byte("z"), 5000)
	if err := r.Receive(t.Context(), "", []input.Event{{Message: long}, {Message: long[:input.MinMaxRecord]}}); err != nil {
		t.Fatal(err)
	}
	kept := strings.Count(s.messages[0], "z")
	if want := fmt.Sprintf("%s …[logstow: cut %d bytes]", long[:kept], 5000-kept); s.messages[0] != want || len(want) > input.MinMaxRecord {
		t.Errorf("%q, want %q", s.messages[0], want)
	}
	if !bytes.Equal(long, bytes.Repeat([]byte("z"), 5000)) {
		t.Error("the sender's bytes were changed")
	}
	if len(s.messages[1]) != input.MinMaxRecord || stats.Cut.Load() != 1 || stats.Bytes.Load() != 6024 {
		t.Errorf("%d bytes kept of the second, %d cut, %d bytes", len(s.messages[1]), stats.Cut.Load(), stats.Bytes.Load())
	}
}

func TestReceiveTooLarge(t *testing.T) {
	t.Parallel()
	var s sink
	r := receiver(t, input.Options{Sink: &s, Process: processFunc(func(string, *record.Record) bool {
		t.Error("what is too large was processed")
		return true
	})})
	events := []input.Event{{Message: make([]byte, input.MaxReceive/2)}, {Message: make([]byte, input.MaxReceive/2+1)}}
	if err := r.Receive(t.Context(), "", events); !errors.Is(err, input.ErrTooLarge) || s.chunks != 0 {
		t.Errorf("error %v, %d chunks", err, s.chunks)
	}
	r = receiver(t, input.Options{Sink: &s})
	events[1].Message = events[1].Message[1:]
	if err := r.Receive(t.Context(), "", events); err != nil || s.chunks != 1 {
		t.Errorf("at the limit: error %v, %d chunks", err, s.chunks)
	}
}

type processFunc func(service string, r *record.Record) bool

func (f processFunc) Process(service string, r *record.Record) bool { return f(service, r) }

func TestReceiveProcesses(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	r := receiver(t, input.Options{Sink: &s, Stats: &stats, Process: dropper{"secret"}})
	events := []input.Event{{Message: []byte("a secret")}, {Message: []byte("one")}}
	if err := r.Receive(t.Context(), "other", events); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"other: ONE"}, s.messages); diff != "" || string(events[1].Message) != "one" {
		t.Errorf("%s; the sender's: %q", diff, events[1].Message)
	}
	// What is dropped entirely is as good as taken.
	if err := r.Receive(t.Context(), "", events[:1]); err != nil || s.chunks != 1 || stats.Records.Load() != 1 {
		t.Errorf("error %v, %d chunks, %d records", err, s.chunks, stats.Records.Load())
	}
	if err := r.Receive(t.Context(), "", nil); err != nil {
		t.Error(err)
	}
}

// slow is a sink that takes its time.
type slow struct {
	sink
	append, sync time.Duration
	syncErr      error
	synced       []buffer.LSN
}

func (s *slow) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	select {
	case <-time.After(s.append):
		return s.sink.Append(ctx, c)
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (s *slow) Synced(ctx context.Context, lsn buffer.LSN) error {
	select {
	case <-time.After(s.sync):
		s.synced = append(s.synced, lsn)
		return s.syncErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestReceiveBusy(t *testing.T) {
	t.Parallel()
	events := []input.Event{{Message: []byte("one")}}
	synctest.Test(t, func(t *testing.T) {
		full := &slow{append: time.Hour}
		start := time.Now()
		if err := receiver(t, input.Options{Sink: full}).Receive(t.Context(), "", events); !errors.Is(err, input.ErrBusy) || full.chunks != 0 {
			t.Errorf("full: error %v, %d chunks", err, full.chunks)
		}
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("it waited for %v", waited)
		}
		// Waiting for durability is not being busy: it was taken.
		late := &slow{append: time.Second, sync: time.Hour}
		if err := receiver(t, input.Options{Sink: late}).Receive(t.Context(), "", events); err != nil || len(late.synced) != 1 || late.synced[0] != 1 {
			t.Errorf("late: error %v, synced %v", err, late.synced)
		}
		// A sender that goes away is not busy either.
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := receiver(t, input.Options{Sink: full}).Receive(gone, "", events); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, input.ErrBusy) {
			t.Errorf("gone: error %v", err)
		}
	})
}

func TestReceiveErrors(t *testing.T) {
	t.Parallel()
	events := []input.Event{{Message: []byte("one")}}
	broken := errors.New("broken")
	for handed, s := range []input.Sink{&sink{err: broken}, &slow{syncErr: broken}} {
		var stats input.Stats
		if err := receiver(t, input.Options{Sink: s, Stats: &stats}).Receive(t.Context(), "", events); !errors.Is(err, broken) || stats.Records.Load() != int64(handed) {
			t.Errorf("%T: error %v, %d records were handed over, want %d", s, err, stats.Records.Load(), handed)
		}
	}
	small := &sink{err: fmt.Errorf("cannot append to buffer: %w", buffer.ErrTooLarge)}
	if err := receiver(t, input.Options{Sink: small}).Receive(t.Context(), "", events); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("more than the disk holds: error %v", err)
	}
	if _, err := input.NewReceiver(input.Options{MaxRecord: 1}); err == nil {
		t.Error("a record limit of 1 byte: no error")
	}
}
