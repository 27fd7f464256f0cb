//go:build unix

package descriptors

import "syscall"

// unknownLimit is the limit that is assumed if the system does not tell it.
const unknownLimit = 1024

// Limit returns the process's limit of open files.
func Limit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return unknownLimit
	}
	return int(min(limit.Cur, 1<<30)) //nolint:gosec // at most 2^30
}
