package unindexed

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/blobnaming"
	"logstow/buffer/wal"
	"logstow/record"
)

// Entity is what the index has about a stored batch.
type Entity struct {
	// Name and ETag are those of the blob, Size is its length in bytes.
	Name, ETag string
	Size       int64
	Meta       blobnaming.Metadata
	// Minutes are the minutes that have records.
	Minutes []record.Minute
}

const magic = "LSTOWENT"

// errDamaged reports that a frame has an unexpected payload.
var errDamaged = errors.New("damaged index entity")

// encodeHead encodes the beginning of a file: the magic and the frame [store].
func encodeHead(store string) []byte {
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	_ = errors.Join(enc.EncodeArrayLen(1), enc.EncodeString(store)) // writing to a bytes.Buffer cannot fail
	return wal.AppendFrame([]byte(magic), buf.Bytes())
}

// decodeHead returns the store of a file and the bytes of its entities.
func decodeHead(data []byte) (store string, rest []byte, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return "", nil, fmt.Errorf("%w: no magic", errDamaged)
	}
	payload, rest, err := wal.NextFrame(rest)
	if err != nil {
		return "", nil, err
	}
	dec := msgpack.NewDecoder(bytes.NewReader(payload))
	n, err := dec.DecodeArrayLen()
	if err == nil {
		store, err = dec.DecodeString()
	}
	if err != nil || n != 1 {
		return "", nil, fmt.Errorf("%w: head of %d parts", errDamaged, n)
	}
	return store, rest, nil
}

// encode appends the frame [name, etag, size, {metadata}, minutes] of an entity. Minutes are alternately a minute's
// start and its counts by level.
func encode(b []byte, e *Entity) ([]byte, error) {
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	enc.UseCompactInts(true)
	enc.SetSortMapKeys(true)
	err := errors.Join(enc.EncodeArrayLen(5), enc.EncodeString(e.Name), enc.EncodeString(e.ETag), enc.EncodeInt(e.Size),
		enc.Encode(e.Meta.Encode()), enc.EncodeArrayLen(2*len(e.Minutes)))
	for _, m := range e.Minutes {
		err = errors.Join(err, enc.EncodeInt(m.Start), enc.EncodeArrayLen(len(m.Levels)))
		for _, n := range m.Levels {
			err = errors.Join(err, enc.EncodeUint(n))
		}
	}
	return wal.AppendFrame(b, buf.Bytes()), err
}

func decode(payload []byte) (e Entity, err error) {
	dec := msgpack.NewDecoder(bytes.NewReader(payload))
	if n, err := dec.DecodeArrayLen(); err != nil || n != 5 {
		return e, fmt.Errorf("%w: %d parts", errDamaged, n)
	}
	var meta map[string]string
	if err := dec.DecodeMulti(&e.Name, &e.ETag, &e.Size, &meta); err != nil {
		return e, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if e.Meta, err = blobnaming.ParseMetadata(meta); err != nil {
		return e, fmt.Errorf("%w: %w", errDamaged, err)
	}
	n, err := dec.DecodeArrayLen()
	for i := 0; i < n && err == nil; i += 2 {
		var m record.Minute
		if m, err = decodeMinute(dec); err == nil {
			e.Minutes = append(e.Minutes, m)
		}
	}
	if err != nil {
		return e, fmt.Errorf("%w: minutes: %w", errDamaged, err)
	}
	return e, nil
}

func decodeMinute(dec *msgpack.Decoder) (m record.Minute, err error) {
	if m.Start, err = dec.DecodeInt64(); err != nil {
		return m, err
	}
	if n, err := dec.DecodeArrayLen(); err != nil || n != len(m.Levels) {
		return m, errors.Join(err, fmt.Errorf("%d levels", n))
	}
	for i := range m.Levels {
		if m.Levels[i], err = dec.DecodeUint64(); err != nil {
			return m, err
		}
	}
	return m, nil
}
