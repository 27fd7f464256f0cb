package aggregate

import (
	"slices"
	"strings"

	"logstow/query/aggregate/exact"
)

// Key is an item of --by.
type Key struct {
	// Header is the item as typed.
	Header string
	// Step is the length of time steps; zero if the key is not one.
	Step Step
	// Field is what records are grouped by, if Step is zero.
	Field Field
	// Bucket is set for bucket(F) and bucket(F, WIDTH): the key is the lower bound of the bucket that
	// the field's number is in. Buckets start at 0 and at 1, 2 and 5 times the powers of ten, those of
	// negative numbers at their negatives; with a Width they start at its multiples.
	Bucket bool
	// Width is that of linear buckets, otherwise 0.
	Width exact.Number
}

// ParseBy parses the values of --by, each a list of keys separated by commas: names of fields,
// bucket(F), bucket(F, WIDTH), and at most one time step: NUMBER and a unit (ms s m h d w), minute,
// hour or day. Errors name the position, and may carry a hint.
func ParseBy(lists []string) ([]Key, error) {
	items, err := splitLists("by", lists)
	if err != nil {
		return nil, err
	}
	var keys []Key
	for _, i := range items {
		k, err := i.key()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(keys, func(o Key) bool { return o.Header == k.Header }) {
			return nil, i.errorf(0, "%q occurs twice", k.Header)
		}
		if !k.Step.IsZero() && slices.ContainsFunc(keys, func(o Key) bool { return !o.Step.IsZero() }) {
			return nil, i.errorf(0, "%q is the second time step, one is allowed", k.Header)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func (i item) key() (Key, error) {
	k := Key{Header: i.text}
	step, isStep, err := ParseStep(i.text)
	if isStep {
		if err != nil {
			return k, i.errorf(0, "%v", err)
		}
		k.Step = step
		return k, nil
	}
	name, arguments, call, err := i.cutCall()
	if err != nil {
		return k, err
	}
	if !call || name == "field" {
		k.Field, err = i.field()
		return k, err
	}
	if name != "bucket" {
		return k, i.unknown(0, "function", name, []string{"bucket", "field"})
	}
	k.Bucket = true
	parts, err := arguments.split()
	if err != nil {
		return k, err
	}
	if len(parts) > 2 {
		return k, parts[2].errorf(0, "bucket has at most two arguments: bucket(FIELD, WIDTH)")
	}
	if len(parts) == 2 {
		width, ok := exact.Parse([]byte(parts[1].text))
		if !ok || width.Sign() <= 0 {
			return k, parts[1].errorf(0, "%q is not a width greater than 0", parts[1].text)
		}
		k.Width = width.Clone()
	}
	k.Field, err = parts[0].field()
	return k, err
}

// Order is an item of --sort.
type Order struct {
	// Key or Function is an index into what rows are sorted by; the other is -1.
	Key, Function int
	Descending    bool
}

// ParseSort parses the values of --sort, each a list of ITEM [asc|desc]: ITEM is the header of a key
// or a function, or a function as typed before its name. Functions default to desc, keys to asc.
func ParseSort(lists []string, keys []Key, functions []Function) ([]Order, error) {
	items, err := splitLists("sort", lists)
	if err != nil {
		return nil, err
	}
	var orders []Order
	for _, i := range items {
		o, err := i.order(keys, functions)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(orders, func(p Order) bool { return p.Key == o.Key && p.Function == o.Function }) {
			return nil, i.errorf(0, "%q occurs twice", i.text)
		}
		orders = append(orders, o)
	}
	return orders, nil
}

func (i item) order(keys []Key, functions []Function) (Order, error) {
	if o, ok := findOrder(i.text, keys, functions); ok {
		return o, nil
	}
	name := i.text
	if blank := strings.LastIndexAny(name, " \t\n"); blank >= 0 {
		direction := strings.ToLower(name[blank+1:])
		if direction == "asc" || direction == "desc" {
			name = strings.TrimRight(name[:blank], " \t\n")
			if o, ok := findOrder(name, keys, functions); ok {
				o.Descending = direction == "desc"
				return o, nil
			}
		}
	}
	var headers []string
	for _, f := range functions {
		headers = append(headers, f.Header)
	}
	for _, k := range keys {
		headers = append(headers, k.Header)
	}
	return Order{}, i.unknown(0, "item", name, headers)
}

// findOrder finds a header, or a function as typed; blanks outside quotes do not matter for the latter.
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

// squeeze is text without the blanks outside quotes.
func squeeze(s string) string {
	var b strings.Builder
	for at := 0; at < len(s); at++ {
		switch s[at] {
		case ' ', '\t', '\n':
		case '"', '\'', '`':
			if end := quotedEnd(s[at:]); end > 0 {
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
