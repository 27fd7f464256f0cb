package effort_test

import (
	"testing"

	"logstow/internal/test/effort"
)

func TestLevels(t *testing.T) {
	if testing.Short() {
		t.Skip("go test -short is a level of its own")
	}
	cases := effort.Cases{Short: 1, Test: 2, Full: 30, Long: 400}
	for text, want := range map[string]struct {
		level         effort.Level
		n, n2, sample int
	}{"": {effort.Test, 2, 2, 1}, "full": {effort.Full, 30, 2, 200}, "long": {effort.Long, 400, 2, 200}} {
		t.Setenv(effort.Env, text)
		chosen := 0
		sample := effort.NewSample(t, 10)
		for n := sample.Next(0); n <= 200; n = sample.Next(n) {
			chosen++
		}
		if some, all := len(effort.Some(t, 1, 2, 3)), 3; some != map[bool]int{false: 1, true: all}[want.level >= effort.Full] {
			t.Errorf("%q: %d of %d alternatives", text, some, all)
		}
		if effort.Of() != want.level || cases.N() != want.n || (effort.Cases{Test: 2}).N() != want.n2 {
			t.Errorf("%q: level %v, %d cases, %d without others", text, effort.Of(), cases.N(), effort.Cases{Test: 2}.N())
		}
		if all := chosen == 200; all != (want.sample == 200) || chosen < 5 {
			t.Errorf("%q: %d of 200 steps", text, chosen)
		}
	}
}

// A level that does not exist would run less than was asked for.
func TestUnknownLevel(t *testing.T) {
	if testing.Short() {
		t.Skip("go test -short is a level of its own")
	}
	t.Setenv(effort.Env, "ful")
	defer func() {
		if recover() == nil {
			t.Error("accepted")
		}
	}()
	effort.Of()
}
