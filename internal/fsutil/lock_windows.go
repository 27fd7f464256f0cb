package fsutil

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// lockOffset is where the locked byte is: locks of Windows are mandatory, and others read the file's content.
const lockOffset = 1 << 30

// lock is as on Unix, with [syscall.EWOULDBLOCK] for a lock that another process holds, and [syscall.ENOTSUP] for directories, which
// Windows does not lock.
func lock(f *os.File, mode LockMode, wait bool) error {
	at := &windows.Overlapped{OffsetHigh: lockOffset}
	// A handle has one lock: another mode replaces it, as on Unix.
	if err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, at); mode == LockNone ||
		err != nil && !errors.Is(err, windows.ERROR_NOT_LOCKED) {
		return unsupported(err)
	}
	var flags uint32
	if mode == LockExclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return syscall.EWOULDBLOCK
	}
	return unsupported(err)
}

func unsupported(err error) error {
	for _, of := range []error{windows.ERROR_INVALID_FUNCTION, windows.ERROR_INVALID_PARAMETER} {
		if errors.Is(err, of) {
			return syscall.ENOTSUP
		}
	}
	return err
}
