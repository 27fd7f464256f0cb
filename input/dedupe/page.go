package dedupe

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"logstow/buffer"
)

const (
	// pageSize is the number of keys of a full page. A request writes its whole page.
	pageSize = 16
	// entrySize is the encoded size of a key.
	entrySize = 28
	// version is the first byte of a page.
	version = 1
)

// entry is a key in a page. parts is the number of parts of its request that are stored; the last was stored at
// at, in Unix seconds.
type entry struct {
	id               [16]byte
	print, parts, at uint32
}

// page holds the keys of up to pageSize requests, in the order of their times.
type page struct {
	number  uint32
	entries []entry
	// lsn is the LSN of the last append with this page.
	lsn buffer.LSN
}

// ref identifies an entry by the number of its page and its index.
type ref struct{ page, slot uint32 }

func (p *page) name() string { return buffer.KeyPrefix + strconv.FormatUint(uint64(p.number), 16) }

// encode encodes a page. Without entries the result is empty, which deletes the position.
func encode(entries []entry) []byte {
	if len(entries) == 0 {
		return nil
	}
	out := append(make([]byte, 0, 1+len(entries)*entrySize), version)
	for i := range entries {
		e := &entries[i]
		out = append(out, e.id[:]...)
		out = binary.BigEndian.AppendUint32(out, e.print)
		out = binary.BigEndian.AppendUint32(out, e.parts)
		out = binary.BigEndian.AppendUint32(out, e.at)
	}
	return out
}

// decode decodes the output of encode.
func decode(b []byte) ([]entry, error) {
	if len(b) == 0 || b[0] != version || len(b)%entrySize != 1 || len(b) > 1+pageSize*entrySize {
		return nil, fmt.Errorf("invalid page of %d bytes", len(b))
	}
	entries := make([]entry, len(b)/entrySize)
	for i := range entries {
		e, in := &entries[i], b[1+i*entrySize:]
		copy(e.id[:], in)
		e.print, e.parts, e.at = binary.BigEndian.Uint32(in[16:]), binary.BigEndian.Uint32(in[20:]), binary.BigEndian.Uint32(in[24:])
	}
	return entries, nil
}

// pages holds all pages. It is not safe for concurrent use.
type pages struct {
	// all holds the pages by number. Unused numbers have no page.
	all    []*page
	unused []uint32
	// full holds the full pages, the oldest first, and open those with space, of which the last is taken first.
	// Pages that a request uses are in neither.
	full, open []*page
	// stale holds pages whose keys are no longer known but that the buffer still contains.
	stale []*page
}

// take returns a page with space, for exclusive use until put.
func (s *pages) take() *page {
	if n := len(s.open); n > 0 {
		p := s.open[n-1]
		s.open = s.open[:n-1]
		return p
	}
	if n := len(s.unused); n > 0 {
		number := s.unused[n-1]
		s.unused = s.unused[:n-1]
		s.all[number] = &page{number: number}
		return s.all[number]
	}
	p := &page{number: uint32(len(s.all))} //nolint:gosec // thousands at most
	s.all = append(s.all, p)
	return p
}

// put ends the exclusive use of a page.
func (s *pages) put(p *page) {
	if len(p.entries) >= pageSize {
		s.full = append(s.full, p)
	} else {
		s.open = append(s.open, p)
	}
}

// oldest returns the least recently used page, or nil if all are in use.
func (s *pages) oldest() *page {
	switch {
	case len(s.full) == 0 && len(s.open) == 0:
		return nil
	case len(s.full) == 0 || len(s.open) > 0 && s.open[0].at() < s.full[0].at():
		return s.open[0]
	}
	return s.full[0]
}

// at returns the time of the last key, in Unix seconds.
func (p *page) at() uint32 {
	if len(p.entries) == 0 {
		return 0
	}
	return p.entries[len(p.entries)-1].at
}

// remove removes the oldest page from full or open.
func (s *pages) remove(p *page) {
	if len(s.full) > 0 && s.full[0] == p {
		s.full = s.full[1:]
		return
	}
	s.open = slices.Delete(s.open, 0, 1)
}

// free releases the number of a page that the buffer no longer contains.
func (s *pages) free(p *page) {
	s.all[p.number] = nil
	s.unused = append(s.unused, p.number)
}

// load reads the pages that are in the buffer. Invalid pages become stale, so later commits delete them.
func (k *Keys) load(positions []buffer.Position) {
	s := &k.pages
	for _, position := range positions {
		number, err := strconv.ParseUint(strings.TrimPrefix(position.Input, buffer.KeyPrefix), 16, 20)
		if err != nil {
			continue
		}
		p := &page{number: uint32(number)}
		for len(s.all) <= int(p.number) {
			s.all = append(s.all, nil)
		}
		s.all[number] = p
		if p.entries, err = decode(position.Value); err != nil {
			s.stale = append(s.stale, p)
			continue
		}
		s.put(p)
		for slot := range p.entries {
			k.learn(ref{p.number, uint32(slot)}) //nolint:gosec // below the size of a page
		}
	}
	for number, p := range s.all {
		if p == nil {
			s.unused = append(s.unused, uint32(number)) //nolint:gosec // 20 bits
		}
	}
	byTime := func(x, y *page) int { return cmp.Compare(x.at(), y.at()) }
	slices.SortStableFunc(s.full, byTime)
	slices.SortStableFunc(s.open, byTime)
}

// learn adds a key of an earlier process, unless the entry of another page is the valid one.
func (k *Keys) learn(at ref) {
	e := &k.pages.all[at.page].entries[at.slot]
	if before, ok := k.known[e.id]; ok {
		o := &k.pages.all[before.page].entries[before.slot]
		if o.at > e.at || o.at == e.at && o.parts >= e.parts {
			return
		}
	}
	k.known[e.id] = at
}
