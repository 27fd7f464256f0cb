package await_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/await"
)

// failure is a test that is expected to fail.
type failure struct {
	testing.TB
	failed bool
}

func (*failure) Helper() {}

func (f *failure) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}

// A condition that becomes true ends the wait, one that does not fails the test after the duration.
func TestUntil(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]time.Duration{0: 0, 5 * time.Second: 5 * time.Second, time.Hour: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began, f, ended := time.Now(), &failure{TB: t}, make(chan struct{})
			go func() {
				defer close(ended)
				await.Until(f, 10*time.Second, "a condition", func() bool { return time.Since(began) >= after })
			}()
			<-ended
			if took := time.Since(began); took < want || took > want+50*time.Millisecond || f.failed != (after > want) {
				t.Errorf("true after %v: it took %v, failed is %v", after, took, f.failed)
			}
		})
	}
}

// A condition that takes long is polled for at most a fifth of the time.
func TestExpensiveCondition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, polls := time.Now(), 0
		await.Until(t, time.Minute, "a condition", func() bool {
			polls++
			time.Sleep(100 * time.Millisecond)
			return time.Since(began) >= 10*time.Second
		})
		if polls > 21 {
			t.Errorf("%d polls of 100 ms in 10 s", polls)
		}
	})
}
