package compaction_test

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"logstow/compaction"
)

// A network that changes a byte of the first response for each blob leaves no input out, and halts no hour.
func TestChangedResponses(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := newFleet(t, s, rand.New(rand.NewPCG(3, 4)), "api")
	for _, instance := range []string{"a", "b", "c"} {
		f.store(f.segment(instance, hour(), time.Hour, 60))
	}
	var mu sync.Mutex
	changed := make(map[string]bool)
	flaky := &faulty{Store: s, read: func(name string, do func() ([]byte, error)) ([]byte, error) {
		body, err := do()
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !changed[name] {
			changed[name] = true
			body = bytes.Clone(body)
			body[len(body)/3] ^= 1
		}
		return body, err
	}}
	report, err := compaction.Run(t.Context(), flaky, options(t))
	if err != nil || report.Inputs != 3 || report.Removed != 3 || len(report.Halted)+len(report.Problems) > 0 || len(changed) != 4 {
		t.Errorf("report %+v, error %v, responses for %d blobs changed", report, err, len(changed))
	}
}
