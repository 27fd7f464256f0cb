//go:build unix

package tail

import "syscall"

// nonblocking opens a pipe without waiting for its writer.
const nonblocking = syscall.O_NONBLOCK

// defaultMaxOpen is a quarter of the process's limit of open files, within bounds.
func defaultMaxOpen() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxOpenDefault / 4
	}
	return int(max(minOpen, min(maxOpenDefault, limit.Cur/4))) //nolint:gosec // at most maxOpenDefault
}
