package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"logstow/internal/fsutil"
	"logstow/internal/hint"
	"logstow/internal/limited"
	"logstow/store/open"
)

// noteFile is the file in a buffer's directory that describes its shipper, for shipper
// status and for instances that take the buffer over.
const noteFile = "shipper.json"

// maxNote is the maximum size of that file in bytes.
const maxNote = 1 << 20

// Note is the content of shipper.json. A buffer without a note may hold undelivered records.
type Note struct {
	// Service is the owner of the buffer, see [Settings.Service].
	Service string `json:"service"`
	// Store lists the stores that batches are uploaded to.
	Store string `json:"store"`
	// Written are the directories of Store that were written to, as absolute names: none of them begins anew while it is missing.
	Written []string `json:"written,omitempty"`
	// Relay is set if the shipper is a relay: its buffer is left to it, because it has the state of its senders.
	Relay bool `json:"relay,omitempty"`
	// Error is the current upload error, or "".
	Error string `json:"error,omitempty"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
	// Damaged counts the files of the buffer that were found damaged or missing.
	Damaged uint64 `json:"damaged,omitempty"`
	// Requests is the last estimate of the cost of requests; nil before the first, and if storage is not billed.
	Requests *Estimate `json:"requests,omitempty"`
	// Drained reports that nothing was left to deliver when the shipper ended.
	Drained bool      `json:"drained"`
	Time    time.Time `json:"time"`
}

// ReadNote reads the note of a buffer's directory; ok is false if it is missing or damaged.
func ReadNote(dir string) (n Note, ok bool) {
	data, err := limited.Regular(filepath.Join(dir, noteFile), maxNote)
	if err != nil || json.Unmarshal(data, &n) != nil {
		return Note{}, false
	}
	return n, true
}

// write replaces the note of a directory.
func (n Note) write(dir string) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return fsutil.Replace(dir, filepath.Join(dir, noteFile), append(data, '\n'))
}

// HasWritten reports whether the shipper of a buffer's directory has written to a store in a directory.
func HasWritten(dir, spec string, getenv func(string) string) bool {
	if dir == "" {
		return false
	}
	name, err := open.Absolute(spec, getenv)
	n, _ := ReadNote(dir)
	return err == nil && slices.Contains(n.Written, name)
}

// setError sets the current upload error; nil clears it.
func (n *Note) setError(err error) {
	n.Error, n.Hint = "", ""
	if err != nil {
		n.Error, n.Hint = err.Error(), hint.Of(err)
	}
}

// noteWriter keeps the note of a shipper's own buffer up to date. It is safe for concurrent use.
type noteWriter struct {
	// dir is the buffer's directory. If it is "", nothing is written.
	dir     string
	log     *slog.Logger
	damaged func() uint64

	mu   sync.Mutex
	note Note
}

// begin writes the note of a new run in place of that of the run before. If that fails, it removes the latter, which may say that nothing
// is left: that works on a full disk too.
func (w *noteWriter) begin(change func(*Note)) error {
	if w.change(change) == nil {
		return nil
	}
	if err := os.Remove(filepath.Join(w.dir, noteFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return hint.Wrap(fmt.Errorf("cannot replace the note of the run before: %w", err), "remove it: it holds no records")
	}
	return nil
}

// update changes the note and writes it.
func (w *noteWriter) update(change func(*Note)) {
	if err := w.change(change); err != nil {
		w.log.Debug("cannot write the status note", "dir", w.dir, "error", err)
	}
}

func (w *noteWriter) change(change func(*Note)) error {
	if w.dir == "" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.note)
	w.note.Damaged, w.note.Time = w.damaged(), time.Now().UTC()
	return w.note.write(w.dir)
}
