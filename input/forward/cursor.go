package forward

// cursor reads consecutive msgpack values. Results point into them. It never allocates memory according to
// a length in the data.
type cursor struct{ b []byte }

// next reads the head of the next value and, for a text or an extension, its content.
func (c *cursor) next() (head, []byte, error) {
	h, ok := readHead(c.b)
	if !ok || h.size == 0 {
		return head{}, nil, errMalformed
	}
	rest := c.b[h.size:]
	if h.kind != kindText && h.kind != kindExt {
		c.b = rest
		return h, nil, nil
	}
	if h.n > uint64(len(rest)) {
		return head{}, nil, errMalformed
	}
	c.b = rest[h.n:]
	return h, rest[:h.n:h.n], nil
}

// value returns the next value, encoded, with everything in it.
func (c *cursor) value() ([]byte, error) {
	var s scanner
	size, err := s.next(c.b, len(c.b))
	if err != nil || size == 0 {
		return nil, errMalformed
	}
	v := c.b[:size:size]
	c.b = c.b[size:]
	return v, nil
}

// member reads the name of a member, nil if it is no text, and its value.
func (c *cursor) member() (name, value []byte, err error) {
	key, err := c.value()
	if err != nil {
		return nil, nil, err
	}
	name, _ = (&cursor{key}).text()
	value, err = c.value()
	return name, value, err
}

// list reads the head of an array of at least n values.
func (c *cursor) list(n uint64) (head, error) {
	h, _, err := c.next()
	if err != nil || h.kind != kindArray || h.n < n {
		return head{}, errMalformed
	}
	return h, nil
}

// text reads a text.
func (c *cursor) text() ([]byte, error) {
	h, text, err := c.next()
	if err != nil || h.kind != kindText {
		return nil, errMalformed
	}
	return text, nil
}
