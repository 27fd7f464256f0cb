package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/blobnaming"
	"logstow/buffer/disk"
	"logstow/buffer/wal"
)

const (
	magic      = "LSTOWSEG"
	stateMagic = "LSTOWSTA"
	// maxHead is the maximum size of a head in bytes, with its frame; maxState that of a state file.
	maxHead, maxState = 64 << 10, 1 << 20
	version           = 1
)

var (
	// ErrDamaged reports that a file is not an intact sealed batch.
	ErrDamaged = errors.New("damaged batch")
	// ErrTorn reports that a state file ends in a torn write.
	ErrTorn = errors.New("torn write at the end")
)

// Head is the head of a sealed batch's file; the segment follows it.
type Head struct {
	// Key is the key of the records. All records of the key up to number Through are in
	// this or an earlier batch.
	Key     wal.Key
	Through uint64
	// First is when the first record was appended.
	First time.Time
	Meta  blobnaming.Metadata
	// Size is the segment's size in bytes.
	Size int64

	// offset is where the segment begins.
	offset int64
}

// State is the state of a batch's delivery.
type State struct {
	// Store and Name are the store and the blob name of the last create, which may not have been sent yet.
	Store, Name string
}

// Corrupt reports whether an error is ErrDamaged or ErrTorn: the file was read, but its content is
// not intact.
func Corrupt(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrTorn) }

// headParts is the number of elements of a head without a parser.
const headParts = 9

// encodeHead encodes the magic and one frame:
//
//	[version, service, class, start, width, through, first, size, {metadata}, parse]
//
// If parse is "", it is left out.
func encodeHead(h *Head) ([]byte, error) {
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	enc.UseCompactInts(true)
	enc.SetSortMapKeys(true)
	parts := headParts
	if h.Key.Parse != "" {
		parts++
	}
	err := errors.Join(enc.EncodeArrayLen(parts), enc.EncodeUint(version),
		enc.EncodeString(h.Key.Service), enc.EncodeString(h.Key.Class), enc.EncodeInt(h.Key.Start), enc.EncodeInt(h.Key.Width),
		enc.EncodeUint(h.Through), enc.EncodeInt(h.First.UnixNano()), enc.EncodeInt(h.Size), enc.Encode(h.Meta.Encode()))
	if h.Key.Parse != "" {
		err = errors.Join(err, enc.EncodeString(h.Key.Parse))
	}
	if err != nil {
		return nil, err
	}
	return wal.AppendFrame([]byte(magic), buf.Bytes()), nil
}

func decodeHead(b []byte) (h Head, err error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return h, fmt.Errorf("%w: no magic", ErrDamaged)
	}
	payload, rest, err := wal.NextFrame(b[len(magic):])
	if err != nil {
		return h, fmt.Errorf("%w: head: %w", ErrDamaged, err)
	}
	dec := msgpack.NewDecoder(bytes.NewReader(payload))
	n, err := dec.DecodeArrayLen()
	v, verr := dec.DecodeUint64()
	if err != nil || verr != nil || n != headParts && n != headParts+1 || v != version {
		return h, fmt.Errorf("%w: head of version %d with %d parts", ErrDamaged, v, n)
	}
	var first int64
	err = dec.DecodeMulti(&h.Key.Service, &h.Key.Class, &h.Key.Start, &h.Key.Width, &h.Through, &first, &h.Size)
	if err == nil {
		h.Meta, err = decodeMetadata(dec)
	}
	if err == nil && n > headParts {
		h.Key.Parse, err = dec.DecodeString()
	}
	if err != nil {
		return h, fmt.Errorf("%w: head: %w", ErrDamaged, err)
	}
	if h.Size < 0 || !blobnaming.ValidService(h.Key.Service) {
		return h, fmt.Errorf("%w: head", ErrDamaged)
	}
	h.First = time.Unix(0, first)
	h.offset = int64(len(b) - len(rest))
	return h, nil
}

func decodeMetadata(dec *msgpack.Decoder) (m blobnaming.Metadata, err error) {
	const maxKeys = 100
	n, err := dec.DecodeMapLen()
	if err != nil || n > maxKeys {
		return m, fmt.Errorf("metadata of %d keys: %w", n, errors.Join(err, ErrDamaged))
	}
	all := map[string]string{}
	for range n {
		var key, value string
		if err := dec.DecodeMulti(&key, &value); err != nil {
			return m, err
		}
		all[key] = value
	}
	return blobnaming.ParseMetadata(all)
}

// encodeState encodes one frame: [store, name]. The last intact frame of a file counts.
func encodeState(s State) []byte {
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	// Writing to a bytes.Buffer cannot fail.
	_ = errors.Join(enc.EncodeArrayLen(2), enc.EncodeString(s.Store), enc.EncodeString(s.Name))
	return wal.AppendFrame(nil, buf.Bytes())
}

// decodeState returns the last state before any damage. The error of damage is ErrDamaged, or ErrTorn
// if the damaged bytes may be the beginning of a frame.
func decodeState(b []byte) (s State, err error) {
	rest, ok := bytes.CutPrefix(b, []byte(stateMagic))
	if !ok {
		if strings.HasPrefix(stateMagic, string(b)) {
			return s, tornError(b)
		}
		return s, fmt.Errorf("%w: no magic", ErrDamaged)
	}
	for len(rest) > 0 {
		payload, after, err := wal.NextFrame(rest)
		if err != nil && wal.MaybeTorn(rest) {
			return s, tornError(rest)
		}
		if err != nil {
			return s, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		var one State
		dec := msgpack.NewDecoder(bytes.NewReader(payload))
		if n, err := dec.DecodeArrayLen(); err != nil || n < 2 {
			return s, fmt.Errorf("%w: state of %d parts", ErrDamaged, n)
		}
		if err := dec.DecodeMulti(&one.Store, &one.Name); err != nil {
			return s, fmt.Errorf("%w: state: %w", ErrDamaged, err)
		}
		s, rest = one, after
	}
	return s, nil
}

// tornError returns ErrTorn if b is not empty.
func tornError(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return ErrTorn
}

// stateEnd returns the offset behind the last intact frame of a state file; 0 if the file has no intact magic.
func stateEnd(file disk.File, size int64) int64 {
	data := make([]byte, min(size, maxState))
	if n, _ := file.ReadAt(data, 0); n < len(data) || len(data) < len(stateMagic) || string(data[:len(stateMagic)]) != stateMagic {
		return 0
	}
	rest := data[len(stateMagic):]
	for {
		_, after, err := wal.NextFrame(rest)
		if err != nil {
			return int64(len(data) - len(rest))
		}
		rest = after
	}
}
