package wal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Sealed describes the sealed batches when a log is opened.
type Sealed struct {
	// Through is the coverage of the waiting batches, from their heads.
	Through map[Key]uint64
	// Batches has the Seqs of all batches with a file: true if the batch waits, false if it is
	// quarantined or delivered.
	Batches map[int64]bool
}

// Damage is a damaged part of a log file. The intact entries of the file are replayed.
type Damage struct {
	Path string
	// Offset is where the first unreadable byte is, Lost how many bytes are unreadable.
	Offset, Lost int64
	// Torn is set for a torn write at the end of the log, as a crash leaves it. It was never
	// acknowledged and is truncated.
	Torn bool
	// Missing is set if the file does not exist.
	Missing bool
	// Unknown is set if the copy does not cover the damage, so that any records may be lost.
	Unknown bool
	// Foreign is set if the file is not part of the log.
	Foreign bool
}

// Loss is how the damage of a log file affects its records, according to its copy. Records
// in sealed batches are not affected and not counted.
type Loss struct {
	Path string
	// Lost is how many records are lost, Reread how many their inputs will read again.
	Lost, Reread uint64
	// Services are the services of the lost records, in order of name.
	Services []string
}

// Report is the damage found when a log was opened.
type Report struct {
	Damage []Damage
	Losses []Loss
	// MissingBatches are the Seqs of waiting batches without a file.
	MissingBatches []int64
	// LostPositions is set if positions may be older than the records and no policy was applied yet.
	LostPositions bool
}

// recovery reads the files of a log in order.
type recovery struct {
	l      *Log
	report Report
	// lost are the entries of records that only copies have, in order. unsuperseded are, by input, the lost
	// entries with a position of the input that no later intact entry replaces.
	lost         []*lostEntry
	unsuperseded map[string][]*lostEntry
	// unknown is set if entries with unknown content were lost since the last snapshot.
	unknown bool
}

// lostEntry is an entry of records that only the copy of its log file has.
type lostEntry struct {
	*Records
	file *logFile
	// torn is set if the entry may never have been durable.
	torn bool
	// later are the inputs with a later position in an intact entry. beforeSnapshot is set if all
	// inputs have one, because a snapshot follows.
	later          map[string]bool
	beforeSnapshot bool
}

// recover reads all files. With change set it truncates the torn end of the last one. If ctx
// ends, the error is its cause.
func (l *Log) recover(ctx context.Context, sealed Sealed, change bool) (Report, error) {
	r := &recovery{l: l, unsuperseded: map[string][]*lostEntry{}}
	if err := r.leaveOutForeign(); err != nil {
		return r.report, err
	}
	for i, f := range l.files {
		if ctx.Err() != nil {
			return r.report, context.Cause(ctx)
		}
		if i > 0 && f.seq != l.files[i-1].seq+1 {
			r.unknown = true
			path := l.dir.logPath(f.seq - 1)
			r.report.Damage = append(r.report.Damage, Damage{Path: path, Missing: true, Unknown: true})
		}
		if err := r.read(f, i == len(l.files)-1, change); err != nil {
			return r.report, err
		}
	}
	logBehind := false
	for key, through := range sealed.Through {
		l.coverage[key] = max(l.coverage[key], through)
		logBehind = logBehind || through >= l.next
		l.next = max(l.next, through+1)
	}
	if logBehind { // the log lost records: they were durable in it before they were sealed
		r.unknown = true
		r.report.Damage = append(r.report.Damage, Damage{Path: l.dir.path, Missing: true, Unknown: true})
	}
	r.resolveLost()
	for _, seq := range slices.Sorted(maps.Keys(l.batches)) {
		// If entries with unknown content were lost, one of them may be the Done of the batch.
		if _, hasFile := sealed.Batches[seq]; !hasFile && !r.unknown {
			r.report.MissingBatches = append(r.report.MissingBatches, seq)
		}
	}
	clear(l.batches)
	for seq, waits := range sealed.Batches {
		if waits {
			l.batches[seq] = true
		}
	}
	r.report.LostPositions = r.unknown || l.positions.undecidedLost()
	return r.report, nil
}

// leaveOutForeign leaves out files that are not part of the log: they do not follow the file before, and neither they nor their
// copies have an intact entry. They say nothing about lost entries, and the next file must not follow them.
func (r *recovery) leaveOutForeign() error {
	l := r.l
	var own []*logFile
	for _, f := range l.files {
		if n := len(own); n > 0 && f.seq != own[n-1].seq+1 || f.seq == math.MaxUint64 {
			copies, _, err := l.dir.readCopy(f)
			if err != nil {
				return err
			}
			data, err := l.dir.readFile(f.path)
			if err != nil {
				return err
			}
			if found, _ := frames(data, magic, f.seed); len(found)+len(copies) == 0 {
				if data != nil {
					r.report.Damage = append(r.report.Damage, Damage{Path: f.path, Lost: f.size, Foreign: true})
				}
				if copies != nil {
					r.report.Damage = append(r.report.Damage, Damage{Path: l.dir.copyPath(f.seq), Lost: f.copySize, Foreign: true})
				}
				continue
			}
		}
		own = append(own, f)
	}
	l.files = own
	return nil
}

// read applies the entries of a log file and its copy. In the last file, damage behind the
// bytes that are known to have been durable is a torn write of a crash. The torn write and
// what follows it were never acknowledged: they are truncated, and the inputs read those
// records again. Other damage is skipped up to the next intact entry.
func (r *recovery) read(f *logFile, last, change bool) error {
	copies, durable, err := r.l.dir.readCopy(f) // read first: a process that writes the log writes the copy after it
	if err != nil {
		return err
	}
	data, err := r.l.dir.readFile(f.path)
	if err != nil {
		return err
	}
	if data == nil && copies == nil { // removed meanwhile: an existing copy without intact entries is not nil
		f.missing = true
		return nil
	}
	f.missing = data == nil
	size := int64(len(data))
	found, own := frames(data, magic, f.seed)
	at := int64(len(magic))
	durable = max(durable, own, at+1) // the first entry is durable before the file is renamed into place
	if size > 0 && string(data[:min(at, size)]) != magic {
		r.damage(f, Damage{Lost: min(at, size)})
	}
	for len(found) > 0 {
		next := found[0]
		if next.at > at {
			if last && at >= durable {
				break
			}
			r.readGap(f, copies, at, next.at)
		}
		d, err := decode(next.payload)
		if err != nil {
			return fmt.Errorf("cannot decode %s at %d: %w", f.path, next.at, err)
		}
		r.applyIntact(f, d)
		found, at = found[1:], next.end()
	}
	end := at
	if n := len(copies); n > 0 {
		end = max(end, copies[n-1].end())
	}
	if !last {
		if end = max(end, size, durable); at < end {
			r.readGap(f, copies, at, end)
		}
		return nil
	}
	if at < durable {
		r.readGap(f, copies, at, durable)
	} else if end > at || at < size && (!hasEndMarker(data[at:]) || len(found) > 0) {
		r.damage(f, Damage{Offset: at, Lost: max(end, size) - at, Torn: true})
	}
	for _, c := range copies {
		if c.at >= max(at, durable) {
			r.applyFromCopy(f, c, true)
		}
	}
	if !change || f.missing {
		return nil
	}
	if at < durable { // damage, which Repair removes
		at = size
	}
	if err := r.l.cut(f, at); err != nil || end == at || f.repair {
		return err
	}
	// The copy also has the truncated entries: it must not restore them.
	f.copySize = 0
	if err := r.l.dir.removeFile(r.l.dir.copyPath(f.seq)); err != nil {
		return err
	}
	return r.l.dir.fs.SyncDir(r.l.dir.path)
}

// cut truncates a file at an offset and syncs it: the recovered entries must be durable
// before their records are sealed.
func (l *Log) cut(f *logFile, at int64) (err error) {
	file, err := l.dir.fs.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if f.size > at {
		if err := file.Truncate(at); err != nil {
			return fmt.Errorf("cannot truncate %s: %w", f.path, err)
		}
		f.size = at
	}
	return file.Sync()
}

// damage reports damage of a file.
func (r *recovery) damage(f *logFile, d Damage) {
	d.Path, d.Missing = f.path, f.missing
	f.repair = f.repair || !d.Torn
	r.report.Damage = append(r.report.Damage, d)
}

// readGap reports a damaged part of a log file and applies the entries that the copy has for it.
func (r *recovery) readGap(f *logFile, copies []copyEntry, from, to int64) {
	at := from
	for _, c := range copies {
		if c.at < from || c.at >= to {
			continue
		}
		if c.at == at {
			at = c.end()
		}
		r.applyFromCopy(f, c, false)
	}
	r.damage(f, Damage{Offset: from, Lost: to - from, Unknown: at < to})
	r.unknown = r.unknown || at < to
}

// applyIntact applies an intact entry of a log file.
func (r *recovery) applyIntact(f *logFile, d decoded) {
	if e := d.records; e != nil {
		r.addNumbers(f, e)
		for _, p := range e.Positions {
			for _, lost := range r.unsuperseded[p.Input] {
				lost.later[p.Input] = true
			}
			delete(r.unsuperseded, p.Input)
		}
		r.l.positions.Apply(e.Positions)
	}
	r.apply(d)
}

// applyFromCopy applies an entry that only the copy has, except its positions: resolveLost decides
// on them.
func (r *recovery) applyFromCopy(f *logFile, c copyEntry, torn bool) {
	r.apply(c.decoded)
	e := c.outline
	if e == nil {
		return
	}
	r.addNumbers(f, e)
	lost := &lostEntry{Records: e, file: f, torn: torn, later: map[string]bool{}}
	r.lost = append(r.lost, lost)
	for _, p := range e.Positions {
		r.unsuperseded[p.Input] = append(r.unsuperseded[p.Input], lost)
	}
}

// addNumbers updates the next record number and the last one of the file by an entry of records.
func (r *recovery) addNumbers(f *logFile, e *Records) {
	if n := count(e.Runs); n > 0 {
		f.last = e.First + uint64(n) - 1
		r.l.next = max(r.l.next, f.last+1)
	}
}

// apply applies an entry that is not one of records.
func (r *recovery) apply(d decoded) {
	l := r.l
	switch {
	case d.snapshot != nil:
		s := d.snapshot
		l.next, l.seq = max(l.next, s.next), max(l.seq, s.seq)
		l.positions, l.batches = s.positions, s.batches
		for key, through := range s.coverage {
			l.coverage[key] = max(l.coverage[key], through)
		}
		r.unknown = false
		clear(r.unsuperseded)
		for _, lost := range r.lost {
			lost.beforeSnapshot = true
		}
	case d.covered != nil:
		l.coverage[d.covered.key] = max(l.coverage[d.covered.key], d.covered.through)
		l.seq = max(l.seq, d.covered.seq)
		l.batches[d.covered.seq] = true
	case d.done != 0:
		delete(l.batches, d.done)
	}
}

// resolveLost decides what happens to the entries that only copies have. It is called when all
// coverage is known. If none of an entry's records is in a sealed batch and its inputs have no
// later position, its positions are ignored and the inputs read the records again. Otherwise its
// positions are applied, and its records that are in no sealed batch are lost. The keys of a request that may
// not have been acknowledged are ignored too: its sender repeats it.
func (r *recovery) resolveLost() {
	losses := map[*logFile]*Loss{}
	kept := map[string]bool{} // inputs with a later position
	var forward []Position
	for _, e := range slices.Backward(r.lost) {
		all := count(e.Runs)
		uncovered := r.uncovered(e)
		last := slices.ContainsFunc(e.Positions, Position.rereads) && !e.beforeSnapshot && !slices.ContainsFunc(e.Positions,
			func(p Position) bool { return e.later[p.Input] || kept[p.Input] })
		loss := losses[e.file]
		if loss == nil {
			loss = &Loss{Path: e.file.path}
			losses[e.file] = loss
		}
		switch {
		case uncovered == all && all > 0 && (last || e.torn):
			switch {
			case last && !e.torn:
				loss.Reread += uint64(all)
			case !last && e.file.repair: // no input reads it again, and it was acknowledged unless the process ended just then
				loss.Lost += uint64(all)
				loss.Services = append(loss.Services, e.Service)
			}
			continue
		case uncovered > 0:
			loss.Lost += uint64(uncovered)
			loss.Services = append(loss.Services, e.Service)
		case e.torn && all == 0:
			continue
		}
		for _, p := range e.Positions {
			if !e.beforeSnapshot && !e.later[p.Input] && !kept[p.Input] {
				kept[p.Input] = true
				forward = append(forward, p)
			}
		}
	}
	r.l.positions.Apply(forward)
	for _, f := range r.l.files {
		if loss := losses[f]; loss != nil && loss.Lost+loss.Reread > 0 {
			slices.Sort(loss.Services)
			loss.Services = slices.Compact(loss.Services)
			r.report.Losses = append(r.report.Losses, *loss)
		}
	}
	r.dropLeftovers(losses)
}

// uncovered returns how many of an entry's records are in no sealed batch.
func (r *recovery) uncovered(e *lostEntry) (n int) {
	number := e.First
	for _, run := range e.Runs {
		n += run.Count - run.skip(r.l.coverage[e.key(run)], number)
		number += uint64(run.Count)
	}
	return n
}

// dropLeftovers removes from the report what a crash leaves without damage: a copy whose log
// file was removed because all its records are in sealed batches, or was not yet renamed into
// place.
func (r *recovery) dropLeftovers(losses map[*logFile]*Loss) {
	l := r.l
	for i, f := range l.files {
		if loss := losses[f]; !f.missing || loss != nil && loss.Lost+loss.Reread > 0 {
			continue
		}
		last := i == len(l.files)-1
		if last && f.last > 0 || len(l.files) == 1 && (l.next > 1 || len(l.positions) > 0) {
			continue
		}
		r.report.Damage = slices.DeleteFunc(r.report.Damage, func(d Damage) bool { return d.Path == f.path && !d.Unknown })
	}
}

// Repair rewrites the damaged files with their intact entries, so that the same damage is not
// reported again. It must be called after the damage was reported and copies of the files were kept.
func (l *Log) Repair() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		if !f.repair {
			continue
		}
		if err := l.rewrite(f); err != nil {
			return fmt.Errorf("cannot repair %s: %w", f.path, wrapFull(err))
		}
		f.repair = false
	}
	return nil
}

// rewrite replaces a file by one with its intact entries. It removes the file's copy first,
// because the copy's offsets do not match the new file.
func (l *Log) rewrite(f *logFile) error {
	f.copySize = 0
	err := l.dir.removeFile(l.dir.copyPath(f.seq))
	if err == nil {
		err = l.dir.sync()
	}
	if err != nil || f.missing {
		return err
	}
	data, err := l.dir.readFile(f.path)
	if err != nil {
		return err
	}
	found, _ := frames(data, magic, f.seed)
	whole := []byte(magic)
	for _, next := range found {
		whole = append(whole, data[next.at:next.end()]...)
	}
	if slices.Equal(whole, data) {
		return nil
	}
	temp := f.path + tempSuffix
	file, err := l.dir.fs.Create(temp)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(whole, 0)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = l.dir.fs.Rename(temp, f.path)
	}
	if err != nil {
		return errors.Join(err, l.dir.removeFile(temp))
	}
	f.size = int64(len(whole))
	return l.dir.sync()
}
