//go:build unix

package listen

import "golang.org/x/sys/unix"

// pollReadable reports whether a read of a descriptor would return at once.
func pollReadable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a file descriptor
	return err == nil && n > 0
}
