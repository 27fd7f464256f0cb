package tail

import "os"

// FailReads makes all open files unreadable until they are opened again.
func (t *Tailer) FailReads() error {
	for _, f := range t.files {
		if f.opened == nil {
			continue
		}
		unreadable, err := os.OpenFile(f.location, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_ = f.opened.Close()
		f.opened = unreadable
	}
	return nil
}

// OnDevice is a position with another device number.
func OnDevice(value []byte, device uint64) []byte {
	p, err := decodePosition(value)
	if err != nil {
		panic(err)
	}
	p.id.device = device
	return p.encode()
}
