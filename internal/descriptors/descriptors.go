// Package descriptors divides the file descriptors that a process may have open (RLIMIT_NOFILE) among those who open
// many: connections of listeners, and files that are followed. The rest is a reserve for the buffer and storage.
//
// The Go runtime raises the soft limit to the hard limit at the start, and gives child processes the limit that the process
// was started with.
package descriptors

import "sync"

const (
	// MaxFiles is the maximum number of followed files that are open.
	MaxFiles = 1024
	// maxReserve is the maximum size of the reserve.
	maxReserve = 256
	// Minimum is the least number of descriptors that Take returns.
	Minimum = 8
)

// Divide divides a limit: a quarter for files, at most 1,024, a quarter as the reserve, at most 256, and the rest for
// connections.
func Divide(limit int) (connections, files *Share) {
	f, reserve := min(limit/4, MaxFiles), min(limit/4, maxReserve)
	return &Share{free: limit - f - reserve}, &Share{free: f}
}

// Share is a number of descriptors that several users divide. It is safe for concurrent use.
type Share struct {
	mu   sync.Mutex
	free int
}

// Take takes at most want descriptors, and leaves as many for each of the given number of further users. It returns how
// many it took, which are at least [Minimum], or want if that is less.
func (s *Share) Take(want, others int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(want, max(Minimum, s.free/(others+1)))
	s.free -= n
	return n
}

// Give gives descriptors back.
func (s *Share) Give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
}
