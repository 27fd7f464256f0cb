package delta

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"logstow/internal/crashpoint"
	"logstow/store"
)

// row is a row of a checkpoint: one of its fields is set.
type row struct {
	Txn      *Txn      `parquet:"txn,optional"`
	Add      *Add      `parquet:"add,optional"`
	Remove   *Remove   `parquet:"remove,optional"`
	Metadata *Metadata `parquet:"metaData,optional"`
	Protocol *Protocol `parquet:"protocol,optional"`
}

// rows yields the rows of a checkpoint, in a fixed order.
func (s *Snapshot) rows(yield func(row) error) error {
	if err := yield(row{Protocol: &s.Protocol}); err != nil {
		return err
	}
	if err := yield(row{Metadata: &s.Metadata}); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(s.Txns)) {
		t := s.Txns[id]
		if err := yield(row{Txn: &t}); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Removed)) {
		r := s.Removed[path]
		if err := yield(row{Remove: &r}); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		a := s.Files[path]
		if err := yield(row{Add: &a}); err != nil {
			return err
		}
	}
	return nil
}

// rowBatch is the number of rows that are read or written at once.
const rowBatch = 512

// encodeCheckpoint returns the checkpoint of a state, and its number of rows.
func encodeCheckpoint(s *Snapshot) (body []byte, n int, err error) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(&parquet.Snappy))
	batch := make([]row, 0, rowBatch)
	flush := func() error {
		_, err := w.Write(batch)
		n += len(batch)
		batch = batch[:0]
		return err
	}
	err = s.rows(func(r row) error {
		if batch = append(batch, r); len(batch) == rowBatch {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, 0, fmt.Errorf("cannot encode the checkpoint: %w", err)
	}
	return b.Bytes(), n, nil
}

// decodeCheckpoint applies the rows of a checkpoint.
func decodeCheckpoint(s *Snapshot, body []byte) (err error) {
	defer func() { // of a file that is not valid
		if p := recover(); p != nil {
			err = fmt.Errorf("not valid: %v", p)
		}
	}()
	if err := checkFooter(body); err != nil {
		return err
	}
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	r := parquet.NewGenericReader[row](file)
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		batch := make([]row, rowBatch) // the maps in it are retained
		n, err := r.Read(batch)
		for _, found := range batch[:n] {
			s.apply(&Action{Txn: found.Txn, Add: found.Add, Remove: found.Remove, Metadata: found.Metadata, Protocol: found.Protocol})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// checkFooter checks the size of the footer, for which the library allocates memory: it is before the magic at the end.
func checkFooter(body []byte) error {
	const magic, length = "PAR1", 4
	end := len(body) - len(magic) - length
	if end < len(magic) || int64(binary.LittleEndian.Uint32(body[end:])) > int64(end-len(magic)) {
		return errors.New("not a Parquet file")
	}
	return nil
}

// readCheckpoint sets a state to that of a checkpoint.
func (t *Table) readCheckpoint(ctx context.Context, s *Snapshot, at logBlob) error {
	body, err := t.read(ctx, at.Blob)
	if err != nil {
		return err
	}
	if err := decodeCheckpoint(s, body); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, at.Name, err)
	}
	s.Version, s.Checkpoint = at.version, at.version
	return nil
}

// hint is the content of _last_checkpoint, which saves readers a listing.
type hint struct {
	Version int64 `json:"version"`
	Size    int   `json:"size"`
	Bytes   int   `json:"sizeInBytes"`
	Files   int   `json:"numOfAddFiles"`
}

// WriteCheckpoint writes the checkpoint of a state, decoding it once for certainty. It removes transactions and tombstones from s that are
// past their retention at a time.
func (t *Table) WriteCheckpoint(ctx context.Context, s *Snapshot, now time.Time) error {
	s.expire(now)
	body, n, err := encodeCheckpoint(s)
	if err != nil {
		return err
	}
	again := newSnapshot()
	if err := decodeCheckpoint(again, body); err != nil || len(again.Files) != len(s.Files) || len(again.Txns) != len(s.Txns) {
		return fmt.Errorf("cannot use the checkpoint of version %d: it has %d files of %d, %d transactions of %d: %w",
			s.Version, len(again.Files), len(s.Files), len(again.Txns), len(s.Txns), errors.Join(err, ErrDamaged))
	}
	crashpoint.Here("export.before-checkpoint")
	err = t.Retry.Do(ctx, func() error {
		_, err := t.Blobs.Create(ctx, checkpointName(s.Version), body, store.CreateOptions{ContentType: "application/octet-stream"})
		if errors.Is(err, store.ErrExists) {
			return nil // by another writer: the state is the same
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot write the checkpoint of version %d: %w", s.Version, err)
	}
	s.Checkpoint = s.Version
	crashpoint.Here("export.after-checkpoint")
	return t.writeHint(ctx, hint{Version: s.Version, Size: n, Bytes: len(body), Files: len(s.Files)})
}

// writeHint replaces _last_checkpoint. Readers that find none, or an older one, list the log.
func (t *Table) writeHint(ctx context.Context, h hint) error {
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("cannot encode %s: %w", hintName, err)
	}
	err = t.Retry.Do(ctx, func() error {
		if err := t.Blobs.Delete(ctx, store.AnyVersion(hintName)); err != nil {
			return err
		}
		_, err := t.Blobs.Create(ctx, hintName, body, store.CreateOptions{ContentType: "application/json"})
		if errors.Is(err, store.ErrExists) {
			return nil // by another writer
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot replace %s: %w", hintName, err)
	}
	return nil
}
