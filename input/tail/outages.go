package tail

import (
	"log/slog"
	"time"
)

// outages logs when files and patterns become unreadable, and when they are readable again.
type outages struct {
	log     *slog.Logger
	failing map[string]bool
}

// note records the result of reading a file or pattern, and logs it if it changed.
func (o *outages) note(about string, err error) {
	switch {
	case err != nil && !o.failing[about]:
		o.failing[about] = true
		o.log.Warn("cannot read file, retrying", "file", about, "error", explain(err))
	case err == nil && o.failing[about]:
		delete(o.failing, about)
		o.log.Info("readable again", "file", about)
	}
}

// emptyInterval is the interval at which globs that match no file are logged.
const emptyInterval = time.Hour

// emptyGlobs logs globs that match no file: at the start, and each emptyInterval. A glob may also be empty between two
// files, so one that becomes empty later is only logged after that time.
type emptyGlobs struct {
	log *slog.Logger
	// due is when an empty glob is logged next, by its text; logged has those that were.
	due    map[string]time.Time
	logged map[string]bool
}

func newEmptyGlobs(log *slog.Logger) emptyGlobs {
	return emptyGlobs{log, make(map[string]time.Time), make(map[string]bool)}
}

// noteFound records whether a glob matches files.
func (e *emptyGlobs) noteFound(glob string, found, starting bool, now time.Time) {
	due, empty := e.due[glob]
	switch {
	case found && e.logged[glob]:
		e.log.Info("files match", "file", glob)
		fallthrough
	case found:
		delete(e.due, glob)
		delete(e.logged, glob)
	case !empty && !starting:
		e.due[glob] = now.Add(emptyInterval)
	case !empty || !now.Before(due):
		e.log.Warn("no file matches", "file", glob, "hint", "check the path, the permissions of its directories, and exclude")
		e.due[glob], e.logged[glob] = now.Add(emptyInterval), true
	}
}
