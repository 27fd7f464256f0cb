package main

import (
	"runtime/debug"
	"testing"
)

// GOMEMLIMIT replaces the limits that commands set.
func TestMemoryLimit(t *testing.T) { //nolint:paralleltest // the limit is the process's
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for value, want := range map[string]int64{"1GiB": before, "": 12345 << 20} {
		env := environment{getenv: func(string) string { return value }}
		debug.SetMemoryLimit(before)
		env.limitMemory(12345 << 20)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("GOMEMLIMIT=%q: limit %d, want %d", value, got, want)
		}
	}
}
