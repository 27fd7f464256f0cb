package tail_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/input"
	"logstow/input/multiline"
	"logstow/input/tail"
)

// CaughtUp is called once, when the sink has everything that the files had, except a record that may go on.
func TestCaughtUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		big := strings.Repeat(strings.Repeat("x", 1000)+"\n", 2000) // several reads
		put(t, dir, "a.log", big, "b.log", "2026-11-20 15:04:05 INFO one\n2026-11-20 15:04:06 INFO last\n", "c.log", "2026-11-20 15:04:05 ERROR boom\njava.lang.Error: y\n\tat a.B.c(B.java:1)\n")
		s, calls := newSink(), 0
		f := follow(t, dir, s, tail.Options{
			Paths: []string{"*.log"}, FromStart: true, Options: input.Options{Lines: input.Lines{Multiline: multiline.Options{Auto: true}}},
			CaughtUp: func(context.Context) error {
				calls++
				if all := s.take(); len(all) != 2002 || !strings.Contains(strings.Join(all, "\n"), "b.log: 2026-11-20 15:04:06 INFO last") {
					t.Errorf("%d lines", len(all))
				}
				return nil
			},
		})
		defer f.stop()
		f.expect(0)
		if calls != 1 {
			t.Errorf("called %d times", calls)
		}
		f.expect(3*time.Second, "c.log: 2026-11-20 15:04:05 ERROR boom\njava.lang.Error: y\n\tat a.B.c(B.java:1)")
		add(t, dir+"/b.log", "2026-11-20 15:04:07 INFO new\n")
		f.expect(3*time.Second, "b.log: 2026-11-20 15:04:07 INFO new")
		if calls != 1 {
			t.Errorf("called %d times", calls)
		}
	})
}

// An error of CaughtUp ends Run.
func TestCaughtUpFails(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	opts := tail.Options{Paths: []string{t.TempDir() + "/none.log"}, CaughtUp: func(context.Context) error { return full }}
	if err := newTailer(t, newSink(), opts).Run(t.Context()); !errors.Is(err, full) {
		t.Error(err)
	}
}
