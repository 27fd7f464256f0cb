package disk

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"logstow/internal/logging"
)

// patientInterval is the time between retries while no descriptor is free.
const patientInterval = 100 * time.Millisecond

// NoDescriptors reports whether an error means that the process or the system has no free file descriptor.
func NoDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Patient is a file system whose calls wait while no file descriptor is free: no notification says when one is, so they
// retry. It is safe for concurrent use.
type Patient struct {
	FS

	log *slog.Logger
	// began is set by Begin; ended is closed by End.
	began  atomic.Bool
	ended  chan struct{}
	ending sync.Once
	// waits counts the calls that waited, waiting those that wait now.
	waits   atomic.Uint64
	waiting atomic.Int64
	limit   logging.Limiter
}

// NewPatient returns a Patient for a file system. Its calls do not wait before Begin and after End.
func NewPatient(fsys FS, log *slog.Logger) *Patient {
	return &Patient{FS: fsys, log: log, ended: make(chan struct{}), limit: logging.Limiter{Every: time.Minute}}
}

// Begin makes calls wait.
func (p *Patient) Begin() { p.began.Store(true) }

// End ends all waiting.
func (p *Patient) End() { p.ending.Do(func() { close(p.ended) }) }

// Waits returns how many calls have waited, and whether one waits now.
func (p *Patient) Waits() (total uint64, now bool) { return p.waits.Load(), p.waiting.Load() > 0 }

// retry calls f until it has a descriptor.
func (p *Patient) retry(f func() error) error {
	err := f()
	if !NoDescriptors(err) || !p.began.Load() {
		return err
	}
	p.waits.Add(1)
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	ticker := time.NewTicker(patientInterval)
	defer ticker.Stop()
	for NoDescriptors(err) {
		p.warn(err)
		select {
		case <-p.ended:
			return err
		case <-ticker.C:
		}
		err = f()
	}
	return err
}

// warn logs that calls wait, rate-limited.
func (p *Patient) warn(err error) {
	if !p.limit.Allow() {
		return
	}
	p.log.Warn("no file descriptor is free; the buffer and its inputs wait until one is: raise the limit of open files (ulimit -n, LimitNOFILE), or lower max-connections and max-open",
		"error", err)
}

// Create is FS.Create.
func (p *Patient) Create(path string) (file File, err error) {
	err = p.retry(func() error { file, err = p.FS.Create(path); return err })
	return file, err
}

// Open is FS.Open.
func (p *Patient) Open(path string) (file File, err error) {
	err = p.retry(func() error { file, err = p.FS.Open(path); return err })
	return file, err
}

// List is FS.List.
func (p *Patient) List(dir string) (files []Info, err error) {
	err = p.retry(func() error { files, err = p.FS.List(dir); return err })
	return files, err
}

// SyncDir is FS.SyncDir.
func (p *Patient) SyncDir(dir string) error {
	return p.retry(func() error { return p.FS.SyncDir(dir) })
}
