// Package await polls for conditions in tests.
package await

import (
	"testing"
	"time"
)

// maxInterval is the longest interval between two polls.
const maxInterval = 20 * time.Millisecond

// Until polls a condition until it is true. The test fails if that takes longer than within.
func Until(t testing.TB, within time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for interval := time.Millisecond; !condition(); interval = min(2*interval, maxInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(interval)
	}
}
