package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"logstow/buffer/sealed"
	"logstow/buffer/wal"
	"logstow/internal/hint"
	"logstow/internal/units"
)

// sealedForLog describes the sealed batches for the recovery of the log. heads are those of the waiting
// batches, known the Seqs of all batches with a file.
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

// wrapLostPositions adds the damaged files and a hint to wal.ErrLostPositions. It returns other errors unchanged.
func wrapLostPositions(err error, report wal.Report) error {
	if !errors.Is(err, wal.ErrLostPositions) {
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

// handleDamage logs and counts the damage found in the log, links damaged files into the
// quarantine and repairs the log.
func (s *Spool) handleDamage(report wal.Report) error {
	s.mu.Lock()
	count := &s.losses
	defer s.mu.Unlock()
	log := s.opts.Log
	lost := map[string]any{}
	for _, l := range report.Losses {
		lost[l.Path] = l.Lost
	}
	for _, d := range report.Damage {
		if d.Torn {
			log.Warn("the log ends in a torn write, which was never acknowledged and is truncated",
				"file", d.Path, "offset", d.Offset, "bytes", d.Lost)
			continue
		}
		count.Damaged++
		if d.Unknown {
			count.Unknown++
			lost[d.Path] = "unknown"
		}
		log.Error(damageText(d), "file", d.Path, "offset", d.Offset, "bytes", d.Lost, "records_lost", cmp.Or(lost[d.Path], any(uint64(0))))
		if d.Missing {
			continue
		}
		to := s.path(quarantineDir, filepath.Base(d.Path))
		err := s.withReserve(func() error { return s.opts.FS.Link(d.Path, to) })
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cannot quarantine a damaged log file: %w", err)
		}
		if d.Foreign {
			if err := s.opts.FS.Remove(d.Path); err != nil {
				return fmt.Errorf("cannot quarantine a file that is not part of the log: %w", err)
			}
		}
	}
	for _, l := range report.Losses {
		if l.Reread > 0 {
			log.Warn("records of a damaged log file are read again by the inputs", "file", l.Path, "records", l.Reread)
		}
		if l.Lost > 0 {
			count.Records += l.Lost
			log.Error("records of a damaged log file are lost", "file", l.Path, "records", l.Lost, "services", l.Services)
		}
	}
	for _, seq := range report.MissingBatches {
		count.Damaged++
		count.Missing++
		log.Error("a sealed batch is missing: its records are lost unless it was stored", "file", s.path(sealedDir, sealed.FileName(seq)))
	}
	if report.LostPositions {
		count.Positions = true
		s.logLostPositions()
	}
	if len(report.Damage) == 0 {
		return nil
	}
	if err := s.withReserve(s.log.Repair); errors.Is(err, wal.ErrFull) {
		log.Warn("cannot repair a damaged log file: its damage is reported again at the next start", "error", err)
	} else if err != nil {
		return err
	}
	return nil
}

// damageText describes damage of a log file.
func damageText(d wal.Damage) string {
	switch {
	case d.Missing && d.Unknown:
		return "a log file is missing: records may be lost or stored twice"
	case d.Missing:
		return "a log file is missing"
	case d.Foreign:
		return "a file with the name of a log file does not follow the others and has no intact entry: it is not part of the log, and is quarantined"
	case d.Unknown:
		return "a log file is damaged, and its copy does not cover the damage: records may be lost or stored twice; the file is in quarantine"
	}
	return "a log file is damaged: its intact entries are used, and the file is in quarantine"
}

// logLostPositions logs that positions are lost and which policy applies.
func (s *Spool) logLostPositions() {
	text := "positions of the inputs are lost: "
	switch s.log.LostPositions() {
	case wal.Reread:
		text += "files are read again from their last known position, or from their start, and lines may be stored twice"
	case wal.Skip:
		text += "files are read from their ends on, and lines may be missing"
	default:
		text += "the next shipper run on this buffer decides"
	}
	s.opts.Log.Error(text, "dir", s.opts.Dir, "on_lost_positions", s.log.LostPositions().String())
}

// damageLines describes each damaged or missing file of a buffer in a line.
func damageLines(report wal.Report, dir string, damaged []string) (all []string) {
	for _, d := range report.Damage {
		if d.Torn {
			continue
		}
		text := "damaged"
		switch {
		case d.Missing:
			text = "missing"
		case d.Foreign:
			text = "not part of the log"
		}
		if d.Unknown {
			text += ": records may be lost or stored twice"
		}
		all = append(all, fmt.Sprintf("%s: %s", d.Path, text))
	}
	for _, l := range report.Losses {
		if l.Lost > 0 {
			all = append(all, fmt.Sprintf("%s: %s lost", l.Path, units.Count(l.Lost, "record")))
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
