package labels

// Index has a value for each of some label sets. The zero value is ready to use. Not safe for concurrent use.
type Index[T any] struct {
	// All are the values in the order in which they were made.
	All   []T
	byKey map[string]T
	key   []byte
}

// Of returns the value of a label set; make makes that of a new one.
func (x *Index[T]) Of(ls Labels, make func() T) T {
	x.key = ls.AppendKey(x.key[:0])
	v, ok := x.byKey[string(x.key)]
	if !ok {
		if x.byKey == nil {
			x.byKey = map[string]T{}
		}
		v = make()
		x.byKey[string(x.key)] = v
		x.All = append(x.All, v)
	}
	return v
}
