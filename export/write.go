package export

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"logstow/catalog"
	"logstow/export/datafile"
	"logstow/export/delta"
	"logstow/internal/crashpoint"
	"logstow/internal/tempfile"
	"logstow/segment"
	"logstow/store"
)

const (
	dateColumn = datafile.DateColumn
	// datePrefix begins the names of all data files, filePrefix the last part of those that export wrote.
	datePrefix  = dateColumn + "="
	filePrefix  = "logs-"
	fileSuffix  = ".parquet"
	writeBuffer = 256 << 10
)

// isOwn reports whether the name of a data file is one of export.
func isOwn(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, datePrefix) && strings.HasPrefix(base, filePrefix) && strings.HasSuffix(base, fileSuffix)
}

// written are the data files of a day that are in storage, but not in the table.
type written struct {
	adds   []delta.Add
	counts datafile.Counts
	rows   int64
}

// dateWriter writes the data files of a day.
type dateWriter struct {
	run   *run
	day   time.Time
	named []datafile.Named
	file  *os.File // nil if none is open
	rows  int64    // of the current service on the day
	buf   *bufio.Writer
	out   *datafile.Writer
	done  written
}

// writeDate writes the records of a day to data files. If an output cannot be read, the error is a [*unitError]; then and after any other
// error the files are deleted.
func (r *run) writeDate(ctx context.Context, d *datePlan, named []datafile.Named) (written, error) {
	w := &dateWriter{run: r, day: d.day, named: named}
	err := w.write(ctx, d)
	if err == nil && w.file != nil {
		err = w.finish(ctx)
	}
	if w.file != nil {
		err = errors.Join(err, tempfile.Remove(w.file))
	}
	if err != nil {
		return written{}, errors.Join(err, r.discard(ctx, w.done.adds))
	}
	return w.done, nil
}

func (w *dateWriter) write(ctx context.Context, d *datePlan) error {
	var units []catalog.Segment
	for _, c := range d.chains {
		units = append(units, c.units...)
	}
	slices.SortFunc(units, compareUnits)
	decoder := segment.NewDecoder()
	fields := make([]string, len(w.named))
	for i, n := range w.named {
		fields[i] = n.Field
	}
	var row datafile.Row
	for len(units) > 0 {
		service := units[0].Name.Service
		n := slices.IndexFunc(units, func(s catalog.Segment) bool { return s.Name.Service != service })
		if n < 0 {
			n = len(units)
		}
		m := merge{run: w.run, units: units[:n], decoder: decoder, fields: fields}
		if err := w.begin(units[:n]); err != nil {
			return err
		}
		units = units[n:]
		row.Service = []byte(service)
		err := m.each(ctx, func(u *reader) error {
			row.Instance, row.Line, row.Named = u.instance, u.line, u.values
			return w.add(ctx, &row)
		}, func(catalog.Segment) { w.run.o.Progress.Done.Add(1) })
		if err != nil {
			return err
		}
	}
	return nil
}

// begin begins the outputs of a service.
func (w *dateWriter) begin(units []catalog.Segment) error {
	w.rows = 0
	for _, u := range units {
		w.rows += int64(u.Meta.Records)
	}
	if w.out == nil {
		return nil
	}
	return w.out.Begin(w.rows)
}

// add adds a row to the data file, and ends the file if it is large.
func (w *dateWriter) add(ctx context.Context, row *datafile.Row) (err error) {
	if w.file == nil {
		if w.file, err = tempfile.Create(w.run.o.TempDir); err != nil {
			return err
		}
		w.buf = bufio.NewWriterSize(w.file, writeBuffer)
		if w.out, err = datafile.NewWriter(w.buf, w.named, w.run.o.Compression); err != nil {
			return err
		}
		if err := w.out.Begin(w.rows); err != nil {
			return err
		}
	}
	if err := w.out.Write(row); err != nil {
		return err
	}
	if w.out.Size() < w.run.o.FileSize {
		return nil
	}
	return w.finish(ctx)
}

// finish ends the data file and stores it.
func (w *dateWriter) finish(ctx context.Context) (err error) {
	file := w.file
	w.file = nil
	defer func() { err = errors.Join(err, tempfile.Remove(file)) }()
	stats, counts, err := w.out.Close()
	w.out = nil
	if err == nil {
		err = w.buf.Flush()
	}
	if err != nil {
		return fmt.Errorf("cannot write a data file: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("cannot write a data file: %w", err)
	}
	date := w.day.Format(time.DateOnly)
	name := datePrefix + date + "/" + filePrefix + strings.ToLower(rand.Text()) + fileSuffix
	crashpoint.Here("export.before-file")
	err = w.run.catalog.Retry.Do(ctx, func() error {
		_, err := store.CreateFrom(ctx, w.run.table.Blobs, name, file, info.Size(),
			store.CreateOptions{ContentType: "application/vnd.apache.parquet"})
		return err
	})
	// If the name exists, the response to an earlier attempt was lost: it is random.
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("cannot store a data file: %w", err)
	}
	crashpoint.Here("export.after-file")
	add := delta.Add{
		Path:            name,
		PartitionValues: map[string]string{dateColumn: date},
		Size:            info.Size(),
		Modified:        time.Now().UnixMilli(),
		DataChange:      true,
	}
	if add.Stats, err = stats.Encode(); err != nil {
		return err
	}
	w.done.adds = append(w.done.adds, add)
	w.done.rows += stats.Records
	w.done.counts.Changed += counts.Changed
	w.done.counts.Conflicts += counts.Conflicts
	return nil
}

// discard deletes data files that are not committed. Those that remain are deleted a week later.
func (r *run) discard(ctx context.Context, adds []delta.Add) error {
	if len(adds) == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil // there is no time for it
	default:
	}
	refs := make([]store.BlobRef, len(adds))
	for i, a := range adds {
		refs[i].Name = a.Path
	}
	if err := r.catalog.Retry.Do(ctx, func() error { return r.table.Blobs.Delete(ctx, refs) }); err != nil {
		return fmt.Errorf("cannot delete data files that are not needed: %w", err)
	}
	return nil
}
