// Package heap measures memory in tests.
package heap

import (
	"runtime"
	"runtime/metrics"
)

// Live is the number of bytes that a garbage collection finds in use. What other goroutines allocate after it does not count, however
// long the scheduler keeps this one waiting. What they allocate during it counts as in use, so that the least of two collections is
// taken. It stands for the whole process: tests that use it are not parallel.
func Live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	live := func() int64 {
		runtime.GC()
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	return min(live(), live())
}
