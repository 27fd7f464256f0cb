package wal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// Damage is a log file of which a part cannot be read. What is whole in it is replayed.
type Damage struct {
	Path string
	// Offset is where the first unreadable byte is, Lost how many bytes are unreadable.
	Offset, Lost int64
	// Torn is damage at the very end of the log, as a crash leaves it: never
	// acknowledged, cut off.
	Torn bool
	// Missing says that the file is not there.
	Missing bool
	// Unknown says that its copy does not tell what was in it: any records may be lost.
	Unknown bool
}

// Loss is what the damage of a log file means for its records, as its copy tells. Those
// that sealed batches hold are not counted: nothing happened to them.
type Loss struct {
	Path string
	// Lost records are gone, those of Reread will be read again by their inputs.
	Lost, Reread uint64
	// Services are those of the lost records, in order.
	Services []string
}

// Report is what was found wrong when a log was opened.
type Report struct {
	Damage []Damage
	Losses []Loss
	// MissingBatches are the Seqs of batches that wait, but have no file.
	MissingBatches []int64
	// LostPositions says that the positions may be older than the records.
	LostPositions bool
}

// recovery reads the files of a log one after the other.
type recovery struct {
	l      *Log
	report Report
	// lost are the entries that only copies have, in order; waiting are those by the
	// inputs of which no later position was found.
	lost    []*lostEntry
	waiting map[string][]*lostEntry
	// unknown: entries were lost, since the last snapshot, of which nothing is known.
	unknown bool
	// untracked: the last snapshot does not say which batches wait.
	untracked bool
}

// lostEntry is an entry of records that only the copy of its log file has.
type lostEntry struct {
	*Records
	file *logFile
	// torn: it was perhaps never durable.
	torn bool
	// later are the inputs with a later position; all where past is set.
	later          map[string]bool
	beforeSnapshot bool
}

// recover reads all files. With change set it cuts off the torn end of the last. The
// error is ctx's if it ends meanwhile.
func (l *Log) recover(ctx context.Context, sealed Sealed, change bool) (Report, error) {
	r := &recovery{l: l, waiting: map[string][]*lostEntry{}}
	for i, f := range l.files {
		if ctx.Err() != nil {
			return r.report, context.Cause(ctx)
		}
		if i > 0 && f.seq != l.files[i-1].seq+1 {
			r.unknown = true
			path := filepath.Join(l.opts.Dir, fmt.Sprintf("%016x%s", f.seq-1, suffix))
			r.report.Damage = append(r.report.Damage, Damage{Path: path, Missing: true, Unknown: true})
		}
		if err := r.read(f, i == len(l.files)-1, change); err != nil {
			return r.report, err
		}
	}
	behind := false
	for key, through := range sealed.Through {
		l.coverage[key] = max(l.coverage[key], through)
		behind = behind || through >= l.next
		l.next = max(l.next, through+1)
	}
	if behind { // the log was durable through there
		r.unknown = true
		r.report.Damage = append(r.report.Damage, Damage{Path: l.opts.Dir, Missing: true, Unknown: true})
	}
	r.resolveLost()
	for _, seq := range slices.Sorted(maps.Keys(l.batches)) {
		// What is lost may have said that a batch was removed.
		if _, there := sealed.Batches[seq]; !there && !r.unknown {
			r.report.MissingBatches = append(r.report.MissingBatches, seq)
		}
	}
	clear(l.batches)
	for seq, waits := range sealed.Batches {
		if waits {
			l.batches[seq] = true
		}
	}
	r.report.LostPositions = r.unknown
	return r.report, nil
}

// read takes what a log file and its copy say. In the last file, damage behind what is
// known to have been durable is a write that a crash tore or lost: it and what
// follows was never acknowledged, will be read again, and is cut off. Other damage is
// passed over to the next whole entry.
func (r *recovery) read(f *logFile, last, change bool) error {
	copies, durable, err := r.l.readCopy(f) // first: who writes the log writes its copy behind it
	if err != nil {
		return err
	}
	data, err := r.l.readFile(f.path)
	if err != nil {
		return err
	}
	if data == nil && copies == nil { // gone meanwhile
		f.missing = true
		return nil
	}
	f.missing = data == nil
	size := int64(len(data))
	found, own := frames(data, magic, f.seed)
	at := int64(len(magic))
	durable = max(durable, own, at+1) // the first entry is durable before the file has its name
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
			return fmt.Errorf("%s at %d: %w", f.path, next.at, err)
		}
		r.applyIntact(f, d)
		found, at = found[1:], next.end()
	}
	end := at
	if n := len(copies); n > 0 {
		end = max(end, copies[n-1].end())
	}
	if !last {
		if end = max(end, size); at < end {
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
	if at < durable { // Repair does it
		at = size
	}
	if err := r.l.cut(f, at); err != nil || end == at || f.repair {
		return err
	}
	// The copy has what was cut off: it must not come back.
	f.copySize = 0
	if err := r.l.removeFile(r.l.copyPath(f.seq)); err != nil {
		return err
	}
	return r.l.opts.FS.SyncDir(r.l.opts.Dir)
}

// cut cuts off what is behind an offset, and makes the file durable: what is read now
// and sealed later must not be lost behind it.
func (l *Log) cut(f *logFile, at int64) (err error) {
	file, err := l.opts.FS.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if f.size > at {
		if err := file.Truncate(at); err != nil {
			return fmt.Errorf("cut off what is behind the end of %s: %w", f.path, err)
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

// gap deals with a part of a log file that cannot be read: its copy says what was there.
func (r *recovery) readGap(f *logFile, copies []copied, from, to int64) {
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

// whole takes an entry of the log.
func (r *recovery) applyIntact(f *logFile, d decoded) {
	if e := d.records; e != nil {
		r.addNumbers(f, e, len(e.Records))
		for _, p := range e.Positions {
			for _, lost := range r.waiting[p.Input] {
				lost.later[p.Input] = true
			}
			delete(r.waiting, p.Input)
		}
		apply(r.l.positions, e.Positions)
	}
	r.apply(d)
}

// lose takes an entry that only the copy has. All that it says is true, but its
// positions count only where its records are in sealed batches or cannot be read again.
func (r *recovery) applyFromCopy(f *logFile, c copied, torn bool) {
	r.apply(c.decoded)
	e := c.outline
	if e == nil {
		return
	}
	r.addNumbers(f, e, count(e.Runs))
	lost := &lostEntry{Records: e, file: f, torn: torn, later: map[string]bool{}}
	r.lost = append(r.lost, lost)
	for _, p := range e.Positions {
		r.waiting[p.Input] = append(r.waiting[p.Input], lost)
	}
}

// number notes the numbers of an entry's records.
func (r *recovery) addNumbers(f *logFile, e *Records, n int) {
	if n > 0 {
		f.last = e.First + uint64(n) - 1
		r.l.next = max(r.l.next, f.last+1)
	}
}

// take takes what an entry says beside records.
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
		r.unknown, r.untracked = false, s.version < 2
		clear(r.waiting)
		for _, lost := range r.lost {
			lost.beforeSnapshot = true
		}
	case d.covered != nil:
		l.coverage[d.covered.key] = max(l.coverage[d.covered.key], d.covered.through)
		l.seq = max(l.seq, d.covered.seq)
		if !r.untracked {
			l.batches[d.covered.seq] = true
		}
	case d.done != 0:
		delete(l.batches, d.done)
	}
}

// resolve decides what becomes of entries that only copies have, once all coverage is
// known: where none of an entry's records is in a sealed batch and no later position
// of its inputs is known, they are read again. Else the positions go on behind it, and
// those of its records that no sealed batch holds are lost.
func (r *recovery) resolveLost() {
	losses := map[*logFile]*Loss{}
	kept := map[string]bool{} // inputs with a later position
	var forward []Position
	for _, e := range slices.Backward(r.lost) {
		all := count(e.Runs)
		uncovered := r.uncovered(e)
		last := len(e.Positions) > 0 && !e.beforeSnapshot && !slices.ContainsFunc(e.Positions, func(p Position) bool { return e.later[p.Input] || kept[p.Input] })
		loss := losses[e.file]
		if loss == nil {
			loss = &Loss{Path: e.file.path}
			losses[e.file] = loss
		}
		switch {
		case uncovered == all && all > 0 && (last || e.torn):
			if last && !e.torn {
				loss.Reread += uint64(all)
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
	apply(r.l.positions, forward)
	for _, f := range r.l.files {
		if loss := losses[f]; loss != nil && loss.Lost+loss.Reread > 0 {
			slices.Sort(loss.Services)
			loss.Services = slices.Compact(loss.Services)
			r.report.Losses = append(r.report.Losses, *loss)
		}
	}
	r.dropLeftovers(losses)
}

// uncovered is how many of an entry's records no sealed batch holds.
func (r *recovery) uncovered(e *lostEntry) (n int) {
	number := e.First
	for _, run := range e.Runs {
		n += run.Count - run.skip(r.l.coverage[e.key(run)], number)
		number += uint64(run.Count)
	}
	return n
}

// forgetLeftovers takes out of the report what a crash leaves, which is no damage: a
// copy without its log file when that was just removed, since all its records are in
// sealed batches, or was just about to get its name.
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

// Repair writes the damaged files anew with what is whole in them, so that the same damage
// is not found again; it is to be called when they were looked at.
func (l *Log) Repair() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		if !f.repair {
			continue
		}
		if err := l.rewrite(f); err != nil {
			return fmt.Errorf("repair %s: %w", f.path, wrapFull(err))
		}
		f.repair = false
	}
	return nil
}

// rewrite removes a file's copy and then replaces the file by one with its whole entries:
// the copy must not be found beside that.
func (l *Log) rewrite(f *logFile) error {
	f.copySize = 0
	err := l.removeFile(l.copyPath(f.seq))
	if err == nil {
		err = l.opts.FS.SyncDir(l.opts.Dir)
	}
	if err != nil || f.missing {
		return err
	}
	data, err := l.readFile(f.path)
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
	file, err := l.opts.FS.Create(temp)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(whole, 0)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = l.opts.FS.Rename(temp, f.path)
	}
	if err != nil {
		return errors.Join(err, l.removeFile(temp))
	}
	f.size = int64(len(whole))
	return l.opts.FS.SyncDir(l.opts.Dir)
}
