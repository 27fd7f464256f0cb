package httpserver

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"logstow/input"
	"logstow/message"
	"logstow/record/attributes"
)

// Attributes collects attributes. Its memory is charged to a lease before it is allocated. Its errors are those of [Lease.Take].
type Attributes struct {
	// Text has the encoded values.
	Text []byte
	// List has the attributes, whose values are in Text.
	List []attributes.Member
	// Cut counts values that were left out.
	Cut int

	lease *Lease
	// size is the maximum size of the encoded attributes.
	size int
	// charged is what is charged for names and not yet used.
	charged int
}

// NewAttributes returns empty Attributes.
func NewAttributes(lease *Lease) Attributes { return Attributes{lease: lease} }

// Reset discards the attributes, and keeps the memory.
func (a *Attributes) Reset() {
	a.Text, a.List, a.Cut, a.size = a.Text[:0], a.List[:0], 0, 0
}

// Reserve makes space for n more bytes of Text. The old text stays where it is: members refer to it.
func (a *Attributes) Reserve(n int) error {
	if n <= cap(a.Text)-len(a.Text) {
		return nil
	}
	const least = 1 << 10
	size := max(len(a.Text)+n, 2*cap(a.Text), least)
	if err := a.lease.Take(int64(size)); err != nil {
		return err
	}
	a.Text = append(make([]byte, 0, size), a.Text...)
	return nil
}

// Name copies a name.
func (a *Attributes) Name(name []byte) (string, error) {
	const more = 4 << 10
	if len(name) > a.charged {
		if err := a.lease.Take(int64(len(name) + more)); err != nil {
			return "", err
		}
		a.charged += len(name) + more
	}
	a.charged -= len(name)
	return string(name), nil
}

// memberCost is the size of an [attributes.Member].
const memberCost = 40

// MaxEscape is the maximum length of an escaped byte.
const MaxEscape = len(`\u0000`)

// MaxMember is the maximum encoded size of a member.
func MaxMember(m *attributes.Member) int {
	return MaxEscape*len(m.Name) + len(m.Value) + len(`"":,`)
}

// Push adds a member to List whose value is Text from at on.
func (a *Attributes) Push(name string, at int) error {
	return a.push(name, a.Text[at:len(a.Text):len(a.Text)])
}

func (a *Attributes) push(name string, value []byte) error {
	if len(a.List) == cap(a.List) {
		const few = 16
		size := max(2*cap(a.List), few)
		if err := a.lease.Take(int64(size) * memberCost); err != nil {
			return err
		}
		a.List = append(make([]attributes.Member, 0, size), a.List...)
	}
	a.List = append(a.List, attributes.Member{Name: name, Value: value})
	return nil
}

// Add adds an attribute whose value is Text from at on.
func (a *Attributes) Add(name string, at int) error {
	if err := a.Push(name, at); err != nil {
		return err
	}
	a.size += MaxMember(&a.List[len(a.List)-1])
	return nil
}

// AddNumber adds an attribute that is a number.
func AddNumber[T int64 | uint64](a *Attributes, name string, v T) error {
	at := len(a.Text)
	const most = 20
	if err := a.Reserve(most); err != nil {
		return err
	}
	if v < 0 {
		a.Text = strconv.AppendInt(a.Text, int64(v), 10)
	} else {
		a.Text = strconv.AppendUint(a.Text, uint64(v), 10)
	}
	return a.Add(name, at)
}

// AddText adds an attribute that is a string. Of one that exceeds the limits only the part that matters is encoded.
func AddText[T string | []byte](a *Attributes, name string, s T) error {
	const most = attributes.MaxSize + utf8.UTFMax // it is still too long, and will be cut and counted
	if len(s) > most {
		end := most
		for !utf8.RuneStart(s[end]) && end > attributes.MaxSize {
			end--
		}
		if utf8.ValidString(string(s[:end])) {
			s = s[:end]
		}
	}
	at := len(a.Text)
	if err := AppendText(a, s); err != nil {
		return err
	}
	return a.Add(name, at)
}

// AppendText appends a string to Text; bytes if it is not UTF-8.
func AppendText[T string | []byte](a *Attributes, s T) error {
	const short, extra = 256, len(`{"$bytes":""}`)
	size := MaxEscape * len(s)
	if len(s) > short {
		size = max(escapedSize(s), len(s)/3*4+4)
	}
	if err := a.Reserve(size + extra); err != nil {
		return err
	}
	a.Text = attributes.AppendText(a.Text, s)
	return nil
}

// escapedSize is the maximum size of the escaped form of s.
func escapedSize[T string | []byte](s T) (size int) {
	const del = 0x7f
	for len(s) > 0 {
		plain, escape, n := message.Escape(s)
		for i := range plain {
			if s[i] == del {
				size += MaxEscape
			}
		}
		size += plain + len(escape)
		s = s[plain+n:]
	}
	return size
}

// Shared are attributes that records have in common.
type Shared struct {
	Attributes
	group *attributes.Group
	top   []attributes.Member
	held  int64
}

// NewShared returns empty Shared.
func NewShared(lease *Lease) Shared { return Shared{Attributes: NewAttributes(lease)} }

// Reset discards the attributes, and keeps the memory.
func (s *Shared) Reset() {
	s.lease.Give(s.held)
	s.Attributes.Reset()
	s.group, s.top, s.held = nil, nil, 0
}

// Group ends the collection. The first n attributes are those of a group, the others are stored beside those of the record.
func (s *Shared) Group(n int) error {
	cost := 3 * int64(s.size) // the group, and the space while it grows
	if err := s.lease.Take(cost); err != nil {
		return err
	}
	s.held = cost
	s.group, s.top = attributes.NewGroup(s.List[:n:n]), s.List[n:]
	return nil
}

const (
	// minPiece and maxPiece are the sizes of the first and the largest piece of memory into which texts are copied; longer texts
	// get their own piece.
	minPiece, maxPiece = 4 << 10, 1 << 20
	// shortening is about the memory that it takes to shorten attributes.
	shortening = 16 * attributes.MaxSize
)

// Texts keeps the texts of the records of a request: attributes, and messages that are not in the request. Its memory is charged to a
// lease before it is allocated. The texts are bounded by [input.MaxReceive]: escapes and attributes that records share can make a small
// request large.
type Texts struct {
	lease *Lease
	// size is that of all texts.
	size  int
	piece []byte

	set attributes.Set
	// encoded has the encoded attributes of one record. large is set if shortening is charged.
	encoded []byte
	large   bool
}

// NewTexts returns Texts.
func NewTexts(lease *Lease) Texts { return Texts{lease: lease} }

// Keep returns a copy of a text.
func (t *Texts) Keep(text []byte) ([]byte, error) {
	if len(text) > input.MaxReceive-t.size {
		return nil, fmt.Errorf("%w: with attributes, the records have more than %d bytes", input.ErrTooLarge, input.MaxReceive)
	}
	if len(text) > cap(t.piece)-len(t.piece) {
		size := max(min(2*cap(t.piece), maxPiece), len(text), minPiece)
		if err := t.lease.Take(int64(size)); err != nil {
			return nil, err
		}
		t.piece = make([]byte, 0, size)
	}
	at := len(t.piece)
	t.piece = append(t.piece, text...)
	t.size += len(text)
	return t.piece[at:len(t.piece):len(t.piece)], nil
}

// Encode returns the attributes of a record in their canonical form: its own, and those that it shares, of which any may be nil.
func (t *Texts) Encode(own *Attributes, resource, scope, stream *Shared) ([]byte, error) {
	const more = 256 // the names of the objects, and the number of cuts
	cut, groups := 0, [3]*attributes.Group{}
	size := more
	for i, s := range [...]*Shared{resource, scope, stream} {
		if s == nil {
			continue
		}
		for i := range s.top {
			if err := own.push(s.top[i].Name, s.top[i].Value); err != nil {
				return nil, err
			}
		}
		cut, size, groups[i] = cut+s.Cut, size+s.size, s.group
	}
	if size += own.size; size > attributes.MaxSize {
		size = attributes.MaxSize + more
		if !t.large {
			if err := t.lease.Take(shortening); err != nil {
				return nil, err
			}
			t.large = true
		}
	}
	if cap(t.encoded) < size {
		var err error
		if t.encoded, err = t.lease.Grow(t.encoded[:0], size); err != nil {
			return nil, err
		}
	}
	t.set.Own, t.set.Resource, t.set.Scope, t.set.Stream, t.set.Cut = own.List, groups[0], groups[1], groups[2], own.Cut+cut
	t.encoded, _ = t.set.Append(t.encoded[:0])
	if len(t.encoded) == 0 {
		return nil, nil
	}
	return t.Keep(t.encoded)
}
