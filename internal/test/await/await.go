// Package await polls for conditions in tests.
package await

import (
	"testing"
	"time"
)

// maxInterval is the longest interval between two polls of a quick condition. A pause takes at least minIdle times as long as the poll
// before it: a condition that runs a program would otherwise occupy a core.
const (
	maxInterval = 20 * time.Millisecond
	minIdle     = 4
)

// Until polls a condition until it is true. The test fails if that takes longer than within.
func Until(t testing.TB, within time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for interval := time.Millisecond; ; interval = min(2*interval, maxInterval) {
		began := time.Now()
		if condition() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(max(interval, minIdle*time.Since(began)))
	}
}
