package delta

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The versions that this package can read and write.
const (
	ReaderVersion = 1
	WriterVersion = 2
)

// Properties of tables.
const (
	// TxnRetention is how long a [Txn] is kept at least.
	TxnRetention = "delta.setTransactionRetentionDuration"
	// FileRetention is how long removed files are kept at least; 7 days without it.
	FileRetention = "delta.deletedFileRetentionDuration"
	// LogRetention is how long entries are kept at least; 30 days without it.
	LogRetention = "delta.logRetentionDuration"
	appendOnly   = "delta.appendOnly"
)

// ErrUnsupported is returned for a table that another program has changed so that this package must not write to it.
var ErrUnsupported = errors.New("the table needs another writer")

// Snapshot is the state of a table at a version. Not safe for concurrent use.
type Snapshot struct {
	// Version is that of the last entry, -1 if there is no table.
	Version  int64
	Protocol Protocol
	Metadata Metadata
	// Files are the data files of the table by Path, Removed those removed from it.
	Files   map[string]Add
	Removed map[string]Remove
	// Txns are by AppID.
	Txns map[string]Txn
	// Checkpoint is the version of the last checkpoint, -1 if there is none.
	Checkpoint int64
}

func newSnapshot() *Snapshot {
	return &Snapshot{Version: -1, Checkpoint: -1, Files: make(map[string]Add), Removed: make(map[string]Remove), Txns: make(map[string]Txn)}
}

// apply applies an action.
func (s *Snapshot) apply(a *Action) {
	switch {
	case a.Protocol != nil:
		s.Protocol = *a.Protocol
	case a.Metadata != nil:
		s.Metadata = *a.Metadata
	case a.Txn != nil:
		s.Txns[a.Txn.AppID] = *a.Txn
	case a.Add != nil:
		s.Files[a.Add.Path] = *a.Add
		delete(s.Removed, a.Add.Path)
	case a.Remove != nil:
		delete(s.Files, a.Remove.Path)
		s.Removed[a.Remove.Path] = *a.Remove
	}
}

// Check returns [ErrUnsupported] unless this package may write to the table.
func (s *Snapshot) Check() error {
	p := s.Protocol
	switch {
	case s.Version < 0:
		return nil
	case p.Reader > ReaderVersion || p.Writer > WriterVersion:
		return fmt.Errorf("%w: it has reader version %d and writer version %d, this program knows %d and %d", ErrUnsupported,
			p.Reader, p.Writer, ReaderVersion, WriterVersion)
	case strings.EqualFold(s.Metadata.Configuration[appendOnly], "true"):
		return fmt.Errorf("%w: it has the property %s", ErrUnsupported, appendOnly)
	}
	return nil
}

// Txn returns the version that an application has committed, 0 if none.
func (s *Snapshot) Txn(appID string) int64 { return s.Txns[appID].Version }

// Retention returns a property of the table that is a duration, such as "interval 7 days". Without it the result is otherwise; it is not
// ok if its form is unknown.
func (s *Snapshot) Retention(property string, otherwise time.Duration) (d time.Duration, ok bool) {
	text, given := s.Metadata.Configuration[property]
	if !given {
		return otherwise, true
	}
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 3 && words[0] == "interval" {
		words = words[1:]
	}
	if len(words) != 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(words[0], 10, 32)
	units := map[string]time.Duration{
		"week":   7 * 24 * time.Hour,
		"day":    24 * time.Hour,
		"hour":   time.Hour,
		"minute": time.Minute,
		"second": time.Second,
	}
	unit := units[strings.TrimSuffix(words[1], "s")]
	return time.Duration(n) * unit, err == nil && n >= 0 && unit > 0
}

// Interval returns a duration as in properties of tables, in whole days.
func Interval(d time.Duration) string {
	return fmt.Sprintf("interval %d days", (d+24*time.Hour-1)/(24*time.Hour))
}

// expire removes the transactions and the tombstones that no reader needs at a time.
func (s *Snapshot) expire(now time.Time) {
	if keep, ok := s.Retention(TxnRetention, 0); ok && keep > 0 {
		for id, t := range s.Txns {
			if t.LastUpdated != nil && *t.LastUpdated < now.Add(-keep).UnixMilli() {
				delete(s.Txns, id)
			}
		}
	}
	if keep, ok := s.Retention(FileRetention, fileRetention); ok {
		for path, r := range s.Removed {
			if r.Deleted == nil || *r.Deleted < now.Add(-keep).UnixMilli() {
				delete(s.Removed, path)
			}
		}
	}
}

// fileRetention and logRetention are the defaults of the protocol.
const (
	fileRetention = 7 * 24 * time.Hour
	logRetention  = 30 * 24 * time.Hour
)
