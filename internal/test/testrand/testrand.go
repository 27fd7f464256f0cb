// Package testrand is the source of the data that tests draw.
//
// A test draws the same data in every run, so that its result speaks of the change that is tested. LOGSTOW_SEED=random
// draws new data in each run, for finding faults that nobody looked for, and LOGSTOW_SEED=N repeats a run: a test logs its N.
package testrand

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Env is the environment variable of the seed: a number or "random".
const Env = "LOGSTOW_SEED"

// Seed is the seed of a test or benchmark, which it logs: that of the environment, or one that depends on the test's name alone.
// The test fails if the environment has neither a number below 2^64 nor "random".
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	var seed uint64
	switch text := os.Getenv(Env); text {
	case "":
		h := fnv.New64a()
		_, _ = h.Write([]byte(tb.Name())) // never fails
		seed = h.Sum64()
	case "random":
		seed = rand.Uint64()
	default:
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("%s=%s: want a number or \"random\": %v", Env, text, err)
		}
	}
	tb.Logf("%s=%d", Env, seed)
	return seed
}

// New draws by [Seed]. It is not safe for concurrent use.
func New(tb testing.TB) *rand.Rand {
	tb.Helper()
	return rand.New(rand.NewPCG(Seed(tb), 0)) //nolint:gosec // the data of a test is no secret
}
