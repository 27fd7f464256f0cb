// Package tempfile creates temporary files that do not outlive the process.
package tempfile

import (
	"errors"
	"fmt"
	"os"

	"logstow/internal/hint"
)

// Create makes a temporary file in dir, or in the system's directory if dir is empty. It removes the name at once if the system
// allows that for open files, so that no file is left after a crash. The caller must end the file with [Remove].
func Create(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "logstow-*")
	if err != nil {
		err = fmt.Errorf("cannot create temporary file: %w", err)
		if dir == "" || dir == os.TempDir() {
			err = hint.Wrap(err, "TMPDIR names the directory")
		}
		return nil, err
	}
	_ = os.Remove(file.Name())
	return file, nil
}

// Remove closes a file of [Create], and removes its name if Create could not.
func Remove(file *os.File) error {
	err := file.Close()
	if removeErr := os.Remove(file.Name()); !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}
