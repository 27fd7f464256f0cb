package tail

import "log/slog"

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
