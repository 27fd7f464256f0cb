// Package effort decides how much work a test does: how many random cases, which steps of a fault injection, which sizes.
//
// A test that is cheap does the same in every run. One that is not says what it does at each level, with [Cases], [Sample]
// or [Need]; no test reads the environment itself.
package effort

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"

	"logstow/internal/test/testrand"
)

// Env is the environment variable of the level: "full" or "long". Without it the level is Test, or Short with go test -short.
const Env = "LOGSTOW_EFFORT"

// Level is how much work tests do.
type Level int

// The levels, each of which includes the one before.
const (
	// Short is without services, and little of everything: make short, and under the race detector.
	Short Level = iota
	// Test detects what a change is likely to break: make test.
	Test
	// Full has all steps of every fault injection, and enough random cases to detect what is rare: make full.
	Full
	// Long is for what takes minutes to hours: make long.
	Long
)

// Of is the level of this run. It panics if the environment has another level, since a run at an unintended level
// proves less than it seems to.
func Of() Level {
	if testing.Short() {
		return Short
	}
	switch text := os.Getenv(Env); text {
	case "":
		return Test
	case "full":
		return Full
	case "long":
		return Long
	default:
		panic(Env + "=" + text + `: want "full" or "long"`)
	}
}

// Need skips a test below a level.
func Need(tb testing.TB, level Level, why string) {
	tb.Helper()
	if Of() < level {
		tb.Skipf("%s: runs with %s", why, map[Level]string{Test: "make test", Full: "make full", Long: "make long"}[level])
	}
}

// Parallel lets the tests of a test binary run in parallel by a multiple of the number of processors, unless -parallel says
// otherwise: for those that mostly wait for programs that they run. It parses the flags; call it first in TestMain.
func Parallel(times int) error {
	chosen := false
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(times*runtime.GOMAXPROCS(0)))
}

// Cases are the numbers of cases at each level. Without a number, Short has those of Test, Full has too, and Long has those of
// Full.
type Cases struct{ Short, Test, Full, Long int }

// N is the number of cases at the level of this run.
func (c Cases) N() int {
	n := c.Test
	level := Of()
	if level == Short && c.Short > 0 {
		n = c.Short
	}
	if level >= Full && c.Full > 0 {
		n = c.Full
	}
	if level >= Long && c.Long > 0 {
		n = c.Long
	}
	return n
}

// Sample chooses steps: one in a number of them on average, all of them at [Full] and above. The choice depends on the test's
// seed alone. It is not safe for concurrent use.
type Sample struct {
	rnd   *rand.Rand
	oneIn int
	skip  int // the number of steps before the next one of the sample
}

// NewSample chooses one in oneIn steps.
func NewSample(tb testing.TB, oneIn int) *Sample {
	tb.Helper()
	if Of() >= Full {
		oneIn = 1
	}
	rnd := testrand.New(tb)
	return &Sample{rnd: rnd, oneIn: oneIn, skip: rnd.IntN(2*oneIn - 1)}
}

// Has reports whether the sample has the next step.
func (s *Sample) Has() bool {
	s.skip--
	if s.skip >= 0 {
		return false
	}
	s.skip = s.rnd.IntN(2*s.oneIn - 1)
	return true
}

// Next is the step of the sample that follows step n.
func (s *Sample) Next(n int) int {
	for n++; !s.Has(); n++ {
	}
	return n
}

// Some are all of some alternatives at [Full] and above, below one of them, which depends on the test's seed alone: for kinds
// of stores in tests that are not about what differs between them.
func Some[T any](tb testing.TB, all ...T) []T {
	tb.Helper()
	if Of() >= Full {
		return all
	}
	i := testrand.New(tb).IntN(len(all))
	return all[i : i+1]
}
