package spill

import "io"

// given is a cursor before the first of the records that are left, each a key and a payload.
type given [][2][]byte

// Next implements [Cursor].
func (g *given) Next() ([]byte, error) {
	if len(*g) == 0 {
		return nil, io.EOF
	}
	return (*g)[0][0], nil
}

// Payload implements [Cursor].
func (g *given) Payload(*[]byte) ([]byte, error) {
	payload := (*g)[0][1]
	*g = (*g)[1:]
	return payload, nil
}

// failing is a cursor of some good records, and then with an error of Next or of Payload.
type failing struct {
	good          int
	next, payload error
}

// Next implements [Cursor].
func (f *failing) Next() ([]byte, error) {
	if f.good > 0 || f.next == nil {
		return []byte("key"), nil
	}
	return nil, f.next
}

// Payload implements [Cursor].
func (f *failing) Payload(*[]byte) ([]byte, error) {
	f.good--
	return nil, f.payload
}
