package tail

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"time"

	"logstow/buffer"
	"logstow/input"
)

// positions loads and stores the positions of files and patterns in the sink.
type positions struct {
	sink  input.Sink
	name  string
	known *catalog
	now   func() time.Time
	// pending are the positions that flush stores without records.
	pending []buffer.Position
}

// load loads the positions of files. A file whose position cannot be decoded is read from its
// start.
func (s *positions) load(log *slog.Logger) {
	prefix := inputPrefix(fileInput, s.name)
	for _, stored := range s.sink.Positions(prefix) {
		p, err := decodePosition(stored.Value)
		if err != nil {
			log.Warn("cannot decode the position of a file: reading it from the start", "position", stored.Input, "error", err)
			_, _ = fmt.Sscanf(stored.Input, prefix+"%x:%x", &p.id.device, &p.id.inode) // if that fails, no file has the identity
		}
		s.known.add(p)
	}
}

// store stores the position of a file that is not being read.
func (s *positions) store(p position) {
	p.at = s.now().Unix()
	s.known.add(p)
	s.pending = append(s.pending, s.encoded(p))
}

// storeFile stores the position of a file that is being read.
func (s *positions) storeFile(f *file) { s.pending = append(s.pending, s.of(f, f.lines.Point())...) }

// of returns the positions to store with the records of a file before a point.
func (s *positions) of(f *file, at input.Point) []buffer.Position {
	all := []buffer.Position{s.encoded(f.positionAt(at))}
	if f.previousID != (fileID{}) && f.previousID != f.id {
		s.known.forget(f.previousID)
		all = append(all, s.deletion(f.previousID))
	}
	f.previousID = fileID{}
	for _, former := range f.formers {
		if former.lines.Forget(f.lines) && s.known.byID[former.id] != nil { // otherwise it was removed
			p := former.current()
			if _, past := s.known.past(p.id); past {
				s.known.add(p)
			}
			all = append(all, s.encoded(p))
		}
	}
	if len(f.formers) > 0 && !f.lines.Carries() {
		f.leaveFormers()
	}
	return all
}

// forget deletes the position of a file that is not being read.
func (s *positions) forget(id fileID) {
	s.known.forget(id)
	s.pending = append(s.pending, s.deletion(id))
}

func (s *positions) encoded(p position) buffer.Position {
	p.at = s.now().Unix()
	return buffer.Position{Input: p.id.input(inputPrefix(fileInput, s.name)), Value: p.encode()}
}

func (s *positions) deletion(id fileID) buffer.Position {
	return buffer.Position{Input: id.input(inputPrefix(fileInput, s.name))}
}

// flush stores the pending positions.
func (s *positions) flush(ctx context.Context) error {
	if len(s.pending) == 0 {
		return nil
	}
	_, err := s.sink.Append(ctx, buffer.Chunk{Positions: s.pending})
	s.pending = nil
	return err
}

// fileClock is how far the times of files lag behind the clock: Linux uses the time of its last tick,
// and has at least 100 ticks per second.
const fileClock = 10 * time.Millisecond

// loadFirstScan loads the time of a pattern's first scan, by the clock of the files. If there was none,
// it is the current time.
func (s *positions) loadFirstScan(p *pattern) {
	value, before := s.sink.Position(s.patternInput(p))
	if p.isNew, p.firstScan = !before, 0; p.isNew {
		p.firstScan = s.now().Add(-fileClock).UnixNano()
	} else if len(value) > 1 && value[0] == positionVersion {
		if at, n := binary.Uvarint(value[1:]); n > 0 && at <= math.MaxInt64 {
			p.firstScan = int64(at)
		}
	}
}

// storeFirstScan stores the time of a pattern's first scan.
func (s *positions) storeFirstScan(p *pattern) {
	value := binary.AppendUvarint([]byte{positionVersion}, uint64(p.firstScan))
	s.pending = append(s.pending, buffer.Position{Input: s.patternInput(p), Value: value})
}

func (s *positions) patternInput(p *pattern) string {
	return inputPrefix(patternInput, s.name) + p.absolute
}
