//go:build unix

package main

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
)

// used returns what a process that ended used in a time.
func used(state *os.ProcessState, wall time.Duration) (row, error) {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return row{}, errors.New("this system does not count a process's memory")
	}
	peak := usage.Maxrss >> 10
	if runtime.GOOS == "darwin" { // in bytes there, in KiB elsewhere
		peak >>= 10
	}
	return row{cpu: state.UserTime() + state.SystemTime(), wall: wall, peak: peak, faults: usage.Minflt}, nil
}
