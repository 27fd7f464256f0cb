package sorting

// bound drops the records behind as many others as are wanted, by the starts of their keys.
type bound struct {
	// limit is the number of records wanted, 0 if none are dropped.
	limit int
	// first are the starts of the first keys so far as a heap: the last of them is the first item.
	first [][]byte
}

const (
	// maxBounded is the largest limit for which the keys are kept.
	maxBounded = 10_000
	// boundBytes is the number of bytes of a key that are kept.
	boundBytes = 64
)

// admit reports whether a record with a key may be among those wanted.
func (b *bound) admit(key []byte) bool {
	if b.limit == 0 || b.limit > maxBounded {
		return true
	}
	key = key[:min(len(key), boundBytes)]
	if len(b.first) < b.limit {
		b.first = append(b.first, append([]byte(nil), key...))
		for i := len(b.first) - 1; i > 0; {
			parent := (i - 1) / 2
			if string(b.first[parent]) >= string(b.first[i]) {
				break
			}
			b.first[parent], b.first[i] = b.first[i], b.first[parent]
			i = parent
		}
		return true
	}
	if string(key) > string(b.first[0]) {
		return false
	}
	b.first[0] = append(b.first[0][:0], key...)
	b.down()
	return true
}

// down puts the first item of the heap where it belongs.
func (b *bound) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(b.first) {
			return
		}
		if child+1 < len(b.first) && string(b.first[child+1]) > string(b.first[child]) {
			child++
		}
		if string(b.first[child]) <= string(b.first[i]) {
			return
		}
		b.first[i], b.first[child] = b.first[child], b.first[i]
		i = child
	}
}
