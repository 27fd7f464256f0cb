package buffer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"logstow/buffer/sealed"
	"logstow/buffer/wal"
	"logstow/internal/hint"
)

// LostPositions is what is done where how far the inputs were read is lost: then the
// positions that are left, if any, may be older than the records.
type LostPositions = wal.LostPositions

// What is done with lost positions.
const (
	// KeepLost leaves it to who opens the buffer next, for who reads no inputs.
	UndecidedLost = wal.Undecided
	// RereadLost reads again what the positions do not cover: records may come twice.
	RereadLost = wal.Reread
	// SkipLost goes on at the ends of all inputs: records may be missing.
	SkipLost = wal.Skip
	// StopLost makes Open fail with [ErrLostPositions] and leaves the buffer as it is.
	StopLost = wal.Stop
)

// ErrLostPositions says that how far the inputs were read is lost.
var ErrLostPositions = wal.ErrLostPositions

// LostPositions is what was decided when the positions were lost; KeepLost where they
// are not, or not any more. It stays until [Buffer.PositionsRestored], over restarts.
func (b *Buffer) LostPositions() LostPositions {
	if b.spool == nil {
		return UndecidedLost
	}
	return b.spool.log.LostPositions()
}

// PositionsRestored says that all inputs have noted how far they are read, after positions
// were lost.
func (b *Buffer) PositionsRestored(ctx context.Context) error {
	if b.LostPositions() == UndecidedLost {
		return nil
	}
	_, err := b.Append(ctx, Chunk{Positions: []Position{Position(wal.RestoredPosition())}})
	return err
}

// sealedOf is what the log is to know of sealed batches: of which there is a trace, and
// which of them wait.
func sealedForLog(heads []sealed.Head, known map[int64]bool) wal.Sealed {
	s := wal.Sealed{Through: map[wal.Key]uint64{}, Batches: map[int64]bool{}}
	for seq := range known {
		s.Batches[seq] = false
	}
	for _, h := range heads {
		s.Through[h.Key] = max(s.Through[h.Key], h.Through)
		s.Batches[h.Meta.Seq] = true
	}
	return s
}

// explainLost adds to an error of lost positions which files lost them.
func wrapLostPositions(err error, report wal.Report) error {
	if !errors.Is(err, ErrLostPositions) {
		return err
	}
	var files []string
	for _, d := range report.Damage {
		if d.Unknown {
			files = append(files, d.Path)
		}
	}
	if files = slices.Compact(files); len(files) > 0 {
		err = fmt.Errorf("%w: damaged or missing: %s", err, strings.Join(files, ", "))
	}
	return hint.Wrap(err, "start it with --on-lost-positions reread, which may store lines twice, or skip, which may miss lines")
}

// reportDamage logs what was found wrong in the log, keeps the damaged files for
// whoever wants to look, and repairs the log.
func (s *spool) handleDamage(report wal.Report) error {
	b := s.buf
	log := b.opts.Log
	lost := map[string]any{}
	for _, l := range report.Losses {
		lost[l.Path] = l.Lost
	}
	for _, d := range report.Damage {
		if d.Torn {
			log.Warn("the log ends in an unfinished write, which was never acknowledged and is cut off", "file", d.Path, "offset", d.Offset, "bytes", d.Lost)
			continue
		}
		b.stats.Damaged++
		if d.Unknown {
			b.stats.LostUnknown++
			lost[d.Path] = "unknown"
		}
		log.Error(damageText(d), "file", d.Path, "offset", d.Offset, "bytes", d.Lost, "records_lost", cmp.Or(lost[d.Path], any(uint64(0))))
		if d.Missing {
			continue
		}
		to := filepath.Join(b.opts.Dir, quarantineDir, filepath.Base(d.Path))
		err := s.withReserve(func() error { return b.opts.fs.Link(d.Path, to) })
		if err != nil && !errors.Is(err, errExist) {
			return fmt.Errorf("keep a copy of a damaged log file: %w", err)
		}
	}
	for _, l := range report.Losses {
		if l.Reread > 0 {
			log.Warn("records of a damaged log file are read again by their inputs", "file", l.Path, "records", l.Reread)
		}
		if l.Lost > 0 {
			b.stats.LostRecords += l.Lost
			log.Error("records of a damaged log file are lost", "file", l.Path, "records", l.Lost, "services", l.Services)
		}
	}
	for _, seq := range report.MissingBatches {
		b.stats.Damaged++
		b.stats.Missing++
		log.Error("a sealed batch is missing: its records are lost unless it was stored", "file", filepath.Join(b.opts.Dir, sealedDir, sealed.FileName(seq)))
	}
	if report.LostPositions {
		b.stats.LostPositions = true
		s.logLostPositions()
	}
	if len(report.Damage) == 0 {
		return nil
	}
	if err := s.withReserve(s.log.Repair); errors.Is(err, wal.ErrFull) {
		log.Warn("cannot repair a damaged log file, and its damage is reported again", "error", err)
	} else if err != nil {
		return err
	}
	return nil
}

// damageText is what damage of a log file means.
func damageText(d wal.Damage) string {
	switch {
	case d.Missing && d.Unknown:
		return "a log file is missing: records may be lost or stored twice"
	case d.Missing:
		return "a log file is missing"
	case d.Unknown:
		return "a log file is damaged, and no copy says what was in it: records may be lost or stored twice; quarantine has the file"
	}
	return "a log file is damaged: what is whole in it is used, and quarantine has the file"
}

// reportLost logs that positions are lost and what is done.
func (s *spool) logLostPositions() {
	text := "positions of the inputs are lost: "
	switch s.log.LostPositions() {
	case RereadLost:
		text += "files are read again from the last position that is known, or from their start, and lines may be stored twice"
	case SkipLost:
		text += "files are read on from their ends, and lines may be missing"
	default:
		text += "its own shipper decides what to do"
	}
	s.buf.opts.Log.Error(text, "dir", s.buf.opts.Dir, "on_lost_positions", s.log.LostPositions().String())
}

// reportState logs that the state of a batch cannot be read, or not to its end.
func (b *Buffer) logStateDamage(batch *Batch, state sealed.State, err error) {
	const text = ": where it was tried last is not known, and if it is stored already it is stored again, which queries drop"
	report, what := b.opts.Log.Error, "the state of a sealed batch is damaged"
	if errors.Is(err, sealed.ErrTorn) {
		report, what = b.opts.Log.Warn, "the state of a sealed batch ends in an unfinished write"
	} else {
		b.mu.Lock()
		b.stats.Damaged++
		b.mu.Unlock()
	}
	file := filepath.Join(b.opts.Dir, sealedDir, sealed.StateName(batch.Meta.Seq))
	report(what+text, "file", file, "name", state.Name, "error", err)
}

// done writes down that a batch does not wait any more, durably. Where there is no room
// for that, its state has to stay until the next opening.
func (s *spool) writeDone(seq int64) (keepState bool, err error) {
	var entry uint64
	err = s.withReserve(func() (err error) {
		entry, err = s.log.Done(seq)
		return err
	})
	if errors.Is(err, wal.ErrFull) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, s.log.Sync(entry)
}

// damageOf is what is wrong with a buffer's files, a line each.
func damageLines(report wal.Report, dir string, damaged []string) (all []string) {
	for _, d := range report.Damage {
		if d.Torn {
			continue
		}
		text := "damaged"
		if d.Missing {
			text = "missing"
		}
		if d.Unknown {
			text += ": records may be lost or stored twice"
		}
		all = append(all, fmt.Sprintf("%s: %s", d.Path, text))
	}
	for _, l := range report.Losses {
		if l.Lost > 0 {
			all = append(all, fmt.Sprintf("%s: %d records are lost", l.Path, l.Lost))
		}
	}
	if report.LostPositions {
		all = append(all, "positions of the inputs are lost")
	}
	for _, seq := range report.MissingBatches {
		all = append(all, filepath.Join(dir, sealed.FileName(seq))+": a sealed batch is missing")
	}
	for _, name := range damaged {
		all = append(all, filepath.Join(dir, name)+": damaged")
	}
	return all
}
