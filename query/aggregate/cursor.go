package aggregate

import "io"

// tableCursor reads the sorted groups of a table.
type tableCursor struct {
	table *table
	refs  []uint64
	at    ref
}

func (c *tableCursor) Next() (key []byte, err error) {
	if len(c.refs) == 0 {
		return nil, io.EOF
	}
	c.at = ref(c.refs[0])
	c.refs = c.refs[1:]
	return c.table.key(c.at), nil
}

func (c *tableCursor) Payload(buffer *[]byte) ([]byte, error) {
	*buffer = c.table.encode((*buffer)[:0], c.at)
	return *buffer, nil
}
