package local

import (
	"io/fs"
	"sync"

	"logstow/store"
)

// MaxLeftOut is the maximum number of files that [LeftOut] reports.
const MaxLeftOut = 100

// LeftOut sets a function that is called with files and directories that listings leave out, and why: they are not regular files, or no
// blob has such a name. It is called once with each of the first [MaxLeftOut], and not concurrently.
func LeftOut(f func(name, why string)) Option {
	return func(s *Store) { s.leftOut = &leftOut{report: f, known: map[string]bool{}} }
}

// leftOut reports what listings leave out; nil reports nothing.
type leftOut struct {
	report func(name, why string)

	mu    sync.Mutex
	known map[string]bool
}

func (l *leftOut) add(name, why string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known[name] && len(l.known) < MaxLeftOut {
		l.known[name] = true
		l.report(name, why)
	}
}

// unlisted is why listings leave out what a directory has under a name; "" if they do not.
func unlisted(name string, mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "it is a symbolic link"
	case !mode.IsDir() && !mode.IsRegular():
		return "it is not a regular file"
	}
	if err := store.CheckName(name); err != nil {
		return err.Error()
	}
	return ""
}
