package wal

import (
	"errors"
	"fmt"
	"slices"

	"logstow/segment"
)

// Replay calls take with the records that are in no sealed batch, in the order in
// which they were appended; a run has only those. The messages are valid only during
// the call.
func (l *Log) Replay(take func(Records) error) error {
	l.mu.Lock()
	files := slices.Clone(l.files[:len(l.files)-1]) // Trim may be called meanwhile
	l.mu.Unlock()
	for _, f := range files {
		if err := l.replay(f, take); err != nil {
			return fmt.Errorf("cannot replay the log: %w", err)
		}
	}
	return nil
}

// replay is Replay of one file.
func (l *Log) replay(f *logFile, take func(Records) error) error {
	blocks := segment.NewDecoder()
	return l.unsealed(f, func(e *Records) error {
		if err := e.expand(blocks); err != nil {
			return err
		}
		l.mu.Lock()
		parts := uncovered(e, l.coverage)
		l.mu.Unlock()
		for _, part := range parts {
			if err := take(part); err != nil {
				return err
			}
		}
		return nil
	})
}

// unsealed calls take with the entries of a file that have records in no sealed batch. It adds file and offset of the
// entry to an ErrEntry of take.
func (l *Log) unsealed(f *logFile, take func(*Records) error) error {
	data, err := l.dir.readFile(f.path)
	if err != nil {
		return err
	}
	found, _ := frames(data, magic, f.seed)
	for _, next := range found {
		d, err := decode(next.payload)
		if err == nil && d.records != nil {
			l.mu.Lock()
			done := d.records.sealed(l.coverage)
			l.mu.Unlock()
			if !done {
				err = take(d.records)
			}
		}
		if errors.Is(err, ErrEntry) {
			return fmt.Errorf("cannot decode %s at %d: %w", f.path, next.at, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
