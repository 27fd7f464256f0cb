package wait_test

import (
	"errors"
	"testing"

	"logstow/buffer/internal/wait"
)

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// The first error is final.
func TestFailure(t *testing.T) {
	t.Parallel()
	f := wait.NewFailure()
	if err := f.Set(nil); err != nil || f.Err() != nil || isClosed(f.Failed()) {
		t.Errorf("failed without an error: %v", f.Err())
	}
	first, second := errors.New("first"), errors.New("second")
	for _, err := range []error{first, second} {
		if got := f.Set(err); !errors.Is(got, err) {
			t.Errorf("returned %v, want %v", got, err)
		}
	}
	if !errors.Is(f.Err(), first) || !isClosed(f.Failed()) {
		t.Errorf("failed %t, %v", isClosed(f.Failed()), f.Err())
	}
}

// Memory accepts what fits, and one reservation of any size if nothing is used.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := wait.NewMemory(100)
	if ok, _ := m.TryReserve(1000); !ok || !m.Exceeded() {
		t.Error("the first reservation is refused")
	}
	freed := m.Freed.Next()
	m.Release(900, 0)
	if used, limit := m.Used(); used != 100 || limit != 100 || m.Exceeded() || !isClosed(freed) {
		t.Errorf("%d of %d used, exceeded %t", used, limit, m.Exceeded())
	}
	if ok, pending := m.TryReserve(1); ok || pending {
		t.Errorf("accepted %t, pending %t", ok, pending)
	}
	m.Add(0, 50)
	if _, pending := m.TryReserve(1); pending {
		t.Error("half of the memory is more than half")
	}
	m.Add(0, 1)
	if ok, pending := m.TryReserve(1); ok || !pending {
		t.Errorf("accepted %t, pending %t", ok, pending)
	}
	m.Release(51, 51)
	if ok, _ := m.TryReserve(51); !ok {
		t.Error("what fits is refused")
	}
}
