package event_test

import (
	"testing"

	"logstow/internal/event"
)

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Notify wakes the goroutines that waited before it, and none that waits after it.
func TestEvent(t *testing.T) {
	t.Parallel()
	var e event.Event
	e.Notify()
	first, second := e.Next(), e.Next()
	if isClosed(first) {
		t.Error("woken without Notify")
	}
	e.Notify()
	if !isClosed(first) || !isClosed(second) {
		t.Error("not woken")
	}
	if isClosed(e.Next()) {
		t.Error("woken by an earlier Notify")
	}
}
