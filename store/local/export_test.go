package local

import "logstow/internal/fsutil"

// Faults makes steps of file calls fail: see fsutil.Files.
func Faults(fault func(step string) error) Option {
	return func(s *Store) { s.db.files = fsutil.Files{Fault: fault} }
}
