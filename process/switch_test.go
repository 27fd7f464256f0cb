package process_test

import (
	"sync"
	"testing"

	"logstow/process"
	"logstow/record"
)

// A switch applies the rules that were set last, and none if there are none.
func TestSwitch(t *testing.T) {
	t.Parallel()
	drop, err := process.New(process.Options{Drop: []process.Rule{{Contains: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	none, err := process.New(process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := process.NewSwitch(none)
	keeps := func() bool { return s.Process("web", &record.Record{Message: []byte("x")}) }
	if !keeps() {
		t.Error("dropped without rules")
	}
	s.Set(drop)
	if keeps() {
		t.Error("kept against a rule")
	}
	s.Set(none)
	if !keeps() {
		t.Error("dropped by a rule that is gone")
	}
	var all sync.WaitGroup
	all.Go(func() {
		for range 1000 {
			_ = keeps()
		}
	})
	for range 100 {
		s.Set(drop)
		s.Set(none)
	}
	all.Wait()
}
