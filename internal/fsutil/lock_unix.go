//go:build unix

package fsutil

import (
	"os"
	"syscall"
)

// lock sets or releases the lock of an open file. It waits for others if wait is set.
func lock(f *os.File, mode LockMode, wait bool) error {
	how := map[LockMode]int{LockExclusive: syscall.LOCK_EX, LockShared: syscall.LOCK_SH, LockNone: syscall.LOCK_UN}[mode]
	if !wait {
		how |= syscall.LOCK_NB
	}
	return syscall.Flock(int(f.Fd()), how)
}
