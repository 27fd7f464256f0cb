package delta

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"logstow/internal/crashpoint"
	"logstow/internal/retry"
	"logstow/store"
)

// ErrConflict is returned by [Table.Commit] if another writer has committed the version.
var ErrConflict = errors.New("another writer committed this version")

// ErrDamaged is returned for a log of which a part is missing or not valid.
var ErrDamaged = errors.New("the log of the table is damaged")

const (
	logPrefix  = "_delta_log/"
	entryEnd   = ".json"
	checkpoint = ".checkpoint.parquet"
	hintName   = logPrefix + "_last_checkpoint"
	// digits is the number of digits of a version in a name.
	digits = 20
	// loadTries is how often a log that changes is listed.
	loadTries = 5
	// parallelReads is the number of entries that are read at the same time.
	parallelReads = 16
)

// Table is a Delta Lake table in a container. It is safe for concurrent use, also by several processes.
type Table struct {
	// Blobs has the table: names are relative to it.
	Blobs store.Blobs
	// Retry is the policy of failed requests.
	Retry retry.Policy
}

// logBlob is an entry or a checkpoint.
type logBlob struct {
	store.Blob
	version int64
}

// logList has the blobs of a log, in order of their versions.
type logList struct {
	entries, checkpoints []logBlob
	// others is set if there are checkpoints of other forms.
	others bool
	hint   *store.Blob
}

// list lists the log. Without a container it is empty. One request for 5,000 blobs.
func (t *Table) list(ctx context.Context) (l logList, err error) {
	for page, err := range t.Retry.List(ctx, t.Blobs, logPrefix) {
		if errors.Is(err, store.ErrNoContainer) {
			return logList{}, nil
		}
		if err != nil {
			return l, fmt.Errorf("cannot list the log of the table: %w", err)
		}
		for i, b := range page {
			name := strings.TrimPrefix(b.Name, logPrefix)
			version, rest, ok := cutVersion(name)
			switch {
			case b.Name == hintName:
				l.hint = &page[i]
			case !ok:
			case rest == entryEnd:
				l.entries = append(l.entries, logBlob{b, version})
			case rest == checkpoint:
				l.checkpoints = append(l.checkpoints, logBlob{b, version})
			case strings.HasPrefix(rest, ".checkpoint."):
				l.others = true
			}
		}
	}
	return l, nil
}

// cutVersion returns the version with which the name of a blob of the log begins.
func cutVersion(name string) (version int64, rest string, ok bool) {
	if len(name) <= digits {
		return 0, "", false
	}
	version, err := strconv.ParseInt(name[:digits], 10, 64)
	return version, name[digits:], err == nil && version >= 0
}

func entryName(version int64) string {
	return fmt.Sprintf("%s%0*d%s", logPrefix, digits, version, entryEnd)
}

func checkpointName(version int64) string {
	return fmt.Sprintf("%s%0*d%s", logPrefix, digits, version, checkpoint)
}

// Load returns the current state of the table: from the last checkpoint and the entries after it. If there is no table, its Version is -1.
func (t *Table) Load(ctx context.Context) (*Snapshot, error) { return t.Refresh(ctx, nil) }

// Refresh returns the current state, given an earlier one, which must not be used afterwards. It reads only newer entries.
func (t *Table) Refresh(ctx context.Context, s *Snapshot) (*Snapshot, error) {
	for try := 1; ; try++ {
		l, err := t.list(ctx)
		if err != nil {
			return nil, err
		}
		s, err = t.update(ctx, s, &l)
		// What is listed while entries are created and deleted may have gaps.
		if (errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrNotFound)) && try < loadTries && ctx.Err() == nil {
			s = nil
			continue
		}
		return s, err
	}
}

func (t *Table) update(ctx context.Context, s *Snapshot, l *logList) (*Snapshot, error) {
	if s == nil {
		s = newSnapshot()
		if n := len(l.checkpoints); n > 0 {
			if err := t.readCheckpoint(ctx, s, l.checkpoints[n-1]); err != nil {
				return nil, err
			}
		}
	}
	if n := len(l.checkpoints); n > 0 {
		s.Checkpoint = max(s.Checkpoint, l.checkpoints[n-1].version)
	}
	entries := l.entries
	for len(entries) > 0 && entries[0].version <= s.Version {
		entries = entries[1:]
	}
	for len(entries) > 0 {
		group := entries[:min(len(entries), parallelReads)]
		entries = entries[len(group):]
		if err := t.applyEntries(ctx, s, group, l.others); err != nil {
			return nil, err
		}
	}
	if s.Version >= 0 && (s.Protocol == (Protocol{}) || s.Metadata.Schema == "") {
		return nil, fmt.Errorf("%w: it has no protocol or no schema", ErrDamaged)
	}
	return s, nil
}

// applyEntries reads and applies entries that follow each other.
func (t *Table) applyEntries(ctx context.Context, s *Snapshot, entries []logBlob, others bool) error {
	bodies := make([][]byte, len(entries))
	reads, readCtx := errgroup.WithContext(ctx)
	for i, e := range entries {
		if want := s.Version + 1 + int64(i); e.version != want {
			err := fmt.Errorf("%w: %s is missing", ErrDamaged, entryName(want))
			if others {
				err = fmt.Errorf("%w: %w: it has a checkpoint in several parts, or of version 2", err, ErrUnsupported)
			}
			return err
		}
		reads.Go(func() (err error) {
			bodies[i], err = t.read(readCtx, e.Blob)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	for i, body := range bodies {
		if err := decode(body, s.apply); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, entries[i].Name, err)
		}
		s.Version = entries[i].version
	}
	return nil
}

// read reads a whole blob.
func (t *Table) read(ctx context.Context, b store.Blob) (body []byte, err error) {
	if b.Size == 0 {
		return nil, nil
	}
	err = t.Retry.Do(ctx, func() error {
		body, err = t.Blobs.Read(ctx, b.Ref(), 0, b.Size)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", b.Name, err)
	}
	return body, nil
}

// Commit commits actions as the version that follows s, and applies them to s. The error is [ErrConflict] if that version exists already.
// If the response to the request is lost, Commit finds out whether it was successful.
func (t *Table) Commit(ctx context.Context, s *Snapshot, info CommitInfo, actions []Action) error {
	info.ID = rand.Text()
	all := append([]Action{{CommitInfo: &info}}, actions...)
	body, err := encode(all)
	if err != nil {
		return err
	}
	version := s.Version + 1
	name := entryName(version)
	err = t.Retry.Do(ctx, func() error {
		crashpoint.Here("export.before-commit")
		_, err := t.Blobs.Create(ctx, name, body, store.CreateOptions{ContentType: "application/json"})
		crashpoint.Here("export.after-commit")
		if !errors.Is(err, store.ErrExists) {
			return err
		}
		same, err := t.hasBody(ctx, name, body)
		if err == nil && !same {
			err = ErrConflict
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot commit version %d of the table: %w", version, err)
	}
	for i := range all {
		s.apply(&all[i])
	}
	s.Version = version
	return nil
}

// hasBody reports whether the blob with a name has a body.
func (t *Table) hasBody(ctx context.Context, name string, body []byte) (bool, error) {
	for page, err := range t.Blobs.List(ctx, name) {
		if err != nil {
			return false, err
		}
		if len(page) == 0 || page[0].Name != name || page[0].Size != int64(len(body)) {
			return false, nil
		}
		found, err := t.Blobs.Read(ctx, page[0].Ref(), 0, page[0].Size)
		return bytes.Equal(found, body), err
	}
	return false, nil
}
