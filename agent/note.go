package agent

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"logstow/internal/fsutil"
)

// noteFile is in a buffer's directory what its shipper says of itself there, for
// shipper status and for those who take the buffer over.
const noteFile = "shipper.json"

// note is what noteFile holds. A directory without one may hold anything.
type Note struct {
	// Service is whose records the buffer holds.
	Service string `json:"service"`
	// Store is where batches go.
	Store string `json:"store"`
	// Error is what did not work when the note was written; "" is nothing.
	Error string `json:"error,omitempty"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
	// TakenOverBy is the instance that empties the buffer at the moment, in place of its own.
	TakenOverBy string `json:"taken_over_by,omitempty"`
	// Drained says that nothing was left to be sent when the shipper ended.
	Drained bool      `json:"drained"`
	Time    time.Time `json:"time"`
}

// ReadNote reads a directory's note; one that is missing or damaged says nothing.
func ReadNote(dir string) (n Note, ok bool) {
	data, err := os.ReadFile(filepath.Join(dir, noteFile))
	if err != nil || json.Unmarshal(data, &n) != nil {
		return Note{}, false
	}
	return n, true
}

// write replaces a directory's note.
func (n Note) write(dir string) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return fsutil.Replace(dir, filepath.Join(dir, noteFile), append(data, '\n'))
}

// removeNote makes a directory's note say nothing, also where the disk is full.
func removeNote(dir string) error {
	if err := os.Remove(filepath.Join(dir, noteFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
