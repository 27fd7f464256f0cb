package gelf

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"logstow/input"
	"logstow/input/listen"
	"logstow/input/socket"
)

const (
	// maxUnpacked is the maximum size of a message after decompression, in bytes.
	maxUnpacked = input.MaxReceive
	// arenaSize is the memory for messages that is not taken from the budget, in bytes.
	arenaSize = 1 << 20
	// firstArena is the initial size of that memory.
	firstArena = 16 << 10
	// skipSize is how many bytes past the record limit are decompressed at once.
	skipSize = 8 << 10
)

// unpacker joins chunks and decompresses messages.
type unpacker struct {
	opts   *socket.Options
	chunks *assembler
	budget *listen.Budget
	// arena holds the messages since the last recycle; charged is its share of the budget.
	arena   []byte
	charged int64
	skipped []byte
	pieces  pieceReader
	gzip    gzip.Reader
	zlib    io.ReadCloser
}

func newUnpacker(opts *socket.Options, budget *listen.Budget, incomplete func(messages int)) *unpacker {
	return &unpacker{opts: opts, budget: budget, chunks: newAssembler(opts.MaxMemory/4, budget, incomplete)}
}

// Held implements [socket.Unpacker].
func (u *unpacker) Held() int { return len(u.arena) }

// Recycle implements [socket.Unpacker].
func (u *unpacker) Recycle() {
	u.arena = u.arena[:0]
	if u.charged > 0 {
		u.arena = nil
		u.budget.Give(u.charged)
		u.charged = 0
	}
}

// Close implements [socket.Unpacker].
func (u *unpacker) Close() {
	u.Recycle()
	u.chunks.close()
}

// Unpack implements [socket.Unpacker].
func (u *unpacker) Unpack(datagram []byte, from netip.Addr) ([]byte, error) {
	if !isChunk(datagram) {
		if compression(datagram) == nil {
			return datagram, nil
		}
		return u.decompress([][]byte{datagram})
	}
	p, err := u.chunks.add(datagram, from)
	if p == nil || err != nil {
		return nil, err
	}
	defer u.chunks.release(p)
	return u.decompress(p.pieces)
}

// opener starts to decompress.
type opener func(u *unpacker, r io.Reader) (io.Reader, error)

// compression is how a message is decompressed, by its first bytes; nil if it is plain.
func compression(first []byte) opener {
	switch {
	case len(first) < 2:
		return nil
	case first[0] == 0x1f && first[1] == 0x8b:
		return (*unpacker).openGzip
	case first[0]&0x0f == 8 && first[0]>>4 <= 7 && (int(first[0])<<8+int(first[1]))%31 == 0:
		return (*unpacker).openZlib
	}
	return nil
}

func (u *unpacker) openGzip(r io.Reader) (io.Reader, error) { return &u.gzip, u.gzip.Reset(r) }

func (u *unpacker) openZlib(r io.Reader) (_ io.Reader, err error) {
	if u.zlib == nil {
		u.zlib, err = zlib.NewReader(r)
	} else {
		err = u.zlib.(zlib.Resetter).Reset(r, nil)
	}
	return u.zlib, err
}

// decompress appends a message to the arena.
func (u *unpacker) decompress(pieces [][]byte) ([]byte, error) {
	var head [2]byte
	u.pieces = pieceReader{pieces: pieces}
	n, _ := io.ReadFull(&u.pieces, head[:]) // a shorter one is plain
	u.pieces = pieceReader{pieces: pieces}
	var r io.Reader = &u.pieces
	if open := compression(head[:n]); open != nil {
		var err error
		if r, err = open(u, r); err != nil {
			return nil, fmt.Errorf("cannot decompress: %w", err)
		}
	}
	return u.read(r)
}

// read appends what r has to the arena; a message over the record limit is truncated.
func (u *unpacker) read(r io.Reader) ([]byte, error) {
	start := len(u.arena)
	message, err := u.readRecord(r, start)
	if err != nil {
		u.arena = u.arena[:start]
		return nil, err
	}
	return message, nil
}

func (u *unpacker) readRecord(r io.Reader, start int) ([]byte, error) {
	for len(u.arena)-start < u.opts.MaxRecord {
		if len(u.arena) == cap(u.arena) && !u.grow() {
			return nil, socket.ErrNoMemory
		}
		n, err := r.Read(u.arena[len(u.arena):min(cap(u.arena), start+u.opts.MaxRecord)])
		u.arena = u.arena[:len(u.arena)+n]
		if errors.Is(err, io.EOF) {
			return u.arena[start:len(u.arena):len(u.arena)], nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot decompress: %w", err)
		}
	}
	size, err := u.skip(r, len(u.arena)-start)
	message := u.arena[start:len(u.arena):len(u.arena)]
	if err != nil || size == len(message) {
		return message, err
	}
	u.opts.NoteCut()
	return input.Cut(message, u.opts.MaxRecord, int64(size)), nil
}

// skip reads the rest of a message of which size bytes were read, and returns the size of all.
func (u *unpacker) skip(r io.Reader, size int) (int, error) {
	if u.skipped == nil {
		u.skipped = make([]byte, skipSize)
	}
	for {
		n, err := r.Read(u.skipped)
		size += n
		switch {
		case errors.Is(err, io.EOF):
			return size, nil
		case err != nil:
			return 0, fmt.Errorf("cannot decompress: %w", err)
		case size > maxUnpacked:
			return 0, fmt.Errorf("message larger than %d bytes", maxUnpacked)
		}
	}
}

// grow grows the arena, within the budget. Messages in it stay where they are.
func (u *unpacker) grow() bool {
	size := max(firstArena, 2*cap(u.arena))
	if charge := int64(size-arenaSize) - u.charged; charge > 0 {
		if !u.budget.Take(charge) {
			return false
		}
		u.charged += charge
	}
	u.arena = append(make([]byte, 0, size), u.arena...)
	return true
}

// pieceReader reads consecutive pieces. It reads bytes for the decompressors, which otherwise buffer.
type pieceReader struct {
	pieces [][]byte
	at     int
}

// Read implements [io.Reader].
func (p *pieceReader) Read(to []byte) (int, error) {
	for len(p.pieces) > 0 {
		if n := copy(to, p.pieces[0][p.at:]); n > 0 || len(to) == 0 {
			p.at += n
			return n, nil
		}
		p.pieces, p.at = p.pieces[1:], 0
	}
	return 0, io.EOF
}

// ReadByte implements [io.ByteReader].
func (p *pieceReader) ReadByte() (byte, error) {
	for len(p.pieces) > 0 {
		if p.at < len(p.pieces[0]) {
			p.at++
			return p.pieces[0][p.at-1], nil
		}
		p.pieces, p.at = p.pieces[1:], 0
	}
	return 0, io.EOF
}
