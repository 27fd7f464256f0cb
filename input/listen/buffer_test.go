package listen_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"logstow/input/listen"
)

// A message enlarges a buffer within the budget and the maximum, and what was reserved is returned.
func TestBuffer(t *testing.T) {
	t.Parallel()
	const most = 4 * listen.FirstBuffer
	for _, c := range []struct{ budget, holds int }{{budget: most - 1, holds: 2 * listen.FirstBuffer}, {budget: 8 * most, holds: most}} {
		near, far := net.Pipe()
		go func() { _, _ = far.Write([]byte(strings.Repeat("x", 2*most))) }()
		budget := listen.NewBudget(int64(c.budget), nil)
		b := listen.NewBuffer(t.Context(), near, budget, listen.FirstBuffer, most)
		var failed error
		for failed == nil {
			if _, err := b.Read(len(b.Unread()) > 0, time.Minute, time.Minute); err != nil {
				t.Fatal(err)
			}
			failed = b.MakeSpace(t.Context())
		}
		if n := len(b.Unread()); n != c.holds || !errors.Is(failed, listen.ErrBudget) {
			t.Errorf("budget %d: %d bytes unread, want %d; %v", c.budget, n, c.holds, failed)
		}
		b.Skip(len(b.Unread()))
		if err := b.MakeSpace(t.Context()); err != nil || !budget.Take(int64(c.budget)) {
			t.Errorf("budget %d: an empty buffer holds a part of it: %v", c.budget, err)
		}
		b.Close()
		_ = near.Close()
		_ = far.Close()
	}
}
