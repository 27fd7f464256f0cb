package spill

import (
	"fmt"
	"strings"
	"testing"
)

// Runs are merged until their longest keys fit the memory, and lose no record.
func TestFit(t *testing.T) {
	t.Parallel()
	r := NewRuns(t.TempDir())
	t.Cleanup(func() { _ = r.Close() })
	const runs, long, memory = 20, 10_000, 45_000
	for i := range runs {
		if err := r.Add(&given{{fmt.Appendf(nil, "%s%02d", strings.Repeat("k", long), i), fmt.Append(nil, i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Fit(memory); err != nil {
		t.Fatal(err)
	}
	if r.Len() > memory/long || r.Len() < 2 {
		t.Errorf("%d runs", r.Len())
	}
	n := 0
	if err := Merge(r.Cursors(), func(key, payload []byte) error {
		if string(key[long:]) != fmt.Sprintf("%02d", n) || string(payload) != fmt.Sprint(n) {
			return fmt.Errorf("record %d: %s, %s", n, key[long:], payload)
		}
		n++
		return nil
	}); err != nil || n != runs {
		t.Errorf("%d records, %v", n, err)
	}
}
