package aggregate

import (
	"slices"
	"strings"

	"logstow/exact"
	"logstow/field"
	"logstow/internal/list"
)

// Key is an item of --by.
type Key struct {
	// Header is the item as typed.
	Header string
	// Step is the length of time steps; zero if the key is not one.
	Step field.Step
	// Field is the field by which records are grouped, if Step is zero.
	Field field.Name
	// Bucket is set for bucket(F) and bucket(F, WIDTH): the key is the lower bound of the bucket that contains the number of
	// the field. With a Width, buckets start at its multiples; otherwise at 0, at 1, 2 and 5 times the powers of ten, and for
	// negative numbers at their negatives.
	Bucket bool
	// Width is the width of linear buckets, 0 for others.
	Width exact.Number
}

// ParseBy parses the values of --by, each a list of keys separated by commas: names of fields,
// bucket(F), bucket(F, WIDTH), and at most one time step: NUMBER and a unit (ms s m h d w), minute,
// hour or day. Errors name the position, and may carry a hint.
func ParseBy(lists []string) ([]Key, error) {
	var keys []Key
	var names []field.Name // of the keys that are no buckets
	err := parseLists("by", lists, func(i item) error {
		k, n, err := i.key()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(keys, func(o Key) bool { return o.Bucket && o.Header == k.Header }) {
			return i.Errorf(0, "%s is named twice", k.Header)
		}
		if !k.Bucket {
			for _, other := range names {
				if err := n.Conflict(other); err != nil {
					return i.at(err)
				}
			}
			names = append(names, n)
		}
		keys = append(keys, k)
		return nil
	})
	return keys, err
}

// key reads a key; n is its name unless it is a bucket.
func (i item) key() (k Key, n field.Name, err error) {
	k.Header = i.Text
	name, arguments, call, err := i.cutCall()
	_, isField := field.CallPrefix(name)
	switch {
	case err != nil || !call || isField:
		n, err = i.name()
		k.Step, k.Field = n.Step, n
		k.Field.Text, k.Field.Step = "", field.Step{}
		return k, n, err
	case name != "bucket":
		return k, n, i.unknown("function", name, append([]string{"bucket"}, field.CallNames()...))
	}
	k.Bucket = true
	k.Field, k.Width, err = arguments.bucket()
	return k, n, err
}

// bucket reads the arguments of bucket().
func (i item) bucket() (f field.Name, width exact.Number, err error) {
	parts, err := i.split()
	if err != nil {
		return f, width, err
	}
	if len(parts) > 2 {
		return f, width, parts[2].Errorf(0, "bucket has at most two arguments: bucket(FIELD, WIDTH)")
	}
	if len(parts) == 2 {
		n, ok := exact.Parse([]byte(parts[1].Text))
		if !ok || !n.InRange() || n.Sign() <= 0 {
			return f, width, parts[1].Errorf(0, "%q is not a width greater than 0", parts[1].Text)
		}
		width = n
	}
	f, err = parts[0].field()
	return f, width, err
}

// Order is an item of --sort.
type Order struct {
	// Key is an index into the keys, or Function one into the functions; the other is -1.
	Key, Function int
	Descending    bool
}

// ParseSort parses the values of --sort, each a list of ITEM [asc|desc]. ITEM is the header of a key or a function, or a
// function as typed without its name. Functions default to desc, keys to asc.
func ParseSort(lists []string, keys []Key, functions []Function) ([]Order, error) {
	var orders []Order
	err := parseLists("sort", lists, func(i item) error {
		o, err := i.order(keys, functions)
		if err == nil && slices.ContainsFunc(orders, func(p Order) bool { return p.Key == o.Key && p.Function == o.Function }) {
			err = i.Errorf(0, "%q occurs twice", i.Text)
		}
		orders = append(orders, o)
		return err
	})
	return orders, err
}

func (i item) order(keys []Key, functions []Function) (Order, error) {
	if o, ok := findOrder(i.Text, keys, functions); ok {
		return o, nil
	}
	name, direction := field.CutDirection(i.Text)
	if direction != "" {
		if o, ok := findOrder(name, keys, functions); ok {
			o.Descending = direction == "desc"
			return o, nil
		}
	}
	var headers []string
	for _, f := range functions {
		headers = append(headers, f.Header)
	}
	for _, k := range keys {
		headers = append(headers, k.Header)
	}
	return Order{}, i.unknown("item", name, headers)
}

// findOrder finds a header, or a function as typed, ignoring blanks outside quotes.
func findOrder(name string, keys []Key, functions []Function) (Order, bool) {
	for n, f := range functions {
		if f.Header == name {
			return Order{Key: -1, Function: n, Descending: true}, true
		}
	}
	for n, k := range keys {
		if k.Header == name {
			return Order{Key: n, Function: -1}, true
		}
	}
	for n, f := range functions {
		if squeeze(f.typed) == squeeze(name) {
			return Order{Key: -1, Function: n, Descending: true}, true
		}
	}
	return Order{}, false
}

// squeeze removes the blanks outside quotes.
func squeeze(s string) string {
	var b strings.Builder
	for at := 0; at < len(s); at++ {
		switch s[at] {
		case ' ', '\t', '\n':
		case '"', '\'', '`':
			if end := list.QuotedEnd(s[at:]); end > 0 {
				b.WriteString(s[at : at+end])
				at += end - 1
				continue
			}
			fallthrough
		default:
			b.WriteByte(s[at])
		}
	}
	return b.String()
}
