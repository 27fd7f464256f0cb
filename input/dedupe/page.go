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

// entry is a key in a page: how many parts of its request are stored, and when the last of them was, in Unix
// seconds.
type entry struct {
	id               [16]byte
	print, parts, at uint32
}

// page holds the keys of up to pageSize requests, in the order of their times.
type page struct {
	number  uint32
	entries []entry
	// lsn is that of the last append.
	lsn buffer.LSN
}

// ref is the place of a key.
type ref struct{ page, slot uint32 }

func (p *page) name() string { return buffer.KeyPrefix + strconv.FormatUint(uint64(p.number), 16) }

// encode encodes a page; one without keys is empty, which deletes the position.
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

// pages are all pages; they are not safe for concurrent use.
type pages struct {
	// all are the pages by number; nil if there is none.
	all []*page
	// unused are the numbers without a page.
	unused []uint32
	// full are full pages, the oldest first. open have space; the last is taken first.
	full, open []*page
	// stale are pages whose keys are no longer known, and that the buffer still has.
	stale []*page
}

// take takes a page with space.
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

// put puts a page back.
func (s *pages) put(p *page) {
	if len(p.entries) >= pageSize {
		s.full = append(s.full, p)
	} else {
		s.open = append(s.open, p)
	}
}

// oldest is the page that was not used for the longest time; nil if all are in use.
func (s *pages) oldest() *page {
	switch {
	case len(s.full) == 0 && len(s.open) == 0:
		return nil
	case len(s.full) == 0 || len(s.open) > 0 && s.open[0].at() < s.full[0].at():
		return s.open[0]
	}
	return s.full[0]
}

// at is the time of the last key, in Unix seconds.
func (p *page) at() uint32 {
	if len(p.entries) == 0 {
		return 0
	}
	return p.entries[len(p.entries)-1].at
}

// remove removes the oldest page from those that are used.
func (s *pages) remove(p *page) {
	if len(s.full) > 0 && s.full[0] == p {
		s.full = s.full[1:]
		return
	}
	s.open = slices.Delete(s.open, 0, 1)
}

// free releases the number of a page that the buffer no longer has.
func (s *pages) free(p *page) {
	s.all[p.number] = nil
	s.unused = append(s.unused, p.number)
}

// load reads the pages that are in the buffer. Invalid ones are deleted with later commits.
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

// learn adds a key of an earlier process, unless another page has a later state of its request.
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
