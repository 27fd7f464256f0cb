package rowset

import (
	"slices"
	"sort"

	"logstow/columns"
)

// MaxCombinations is the maximum number of combinations of values that a [Combiner] numbers.
const MaxCombinations = 1 << 14

// Operand is a column of which the values matter.
type Operand struct {
	Page *columns.Page
	// Alike is set if numbers of the page's Numbers need not be told apart, but for those that [Operand.Divide] divides.
	Alike bool
	// bounds divide the numbers, ascending: each is the least number of a class.
	bounds []int64
}

// Divide divides the numbers of the page, if it has any, into those below, equal to and above a constant. compare returns the sign of a
// number minus the constant.
func (o *Operand) Divide(compare func(v int64) int) {
	o.Alike = true
	if o.Page.Plane < 0 {
		return
	}
	low, high := slices.Min(o.Page.Numbers.Values), slices.Max(o.Page.Numbers.Values)
	for sign := range 2 {
		// The sums do not overflow, because a page limits the magnitude of its numbers.
		i := sort.Search(int(high-low)+1, func(i int) bool { return compare(low+int64(i)) >= sign })
		bound := low + int64(i)
		if at, found := slices.BinarySearch(o.bounds, bound); !found && low < bound && bound <= high {
			o.bounds = slices.Insert(o.bounds, at, bound)
		}
	}
}

// class returns the class of a number.
func (o *Operand) class(v int64) (class int) {
	for _, bound := range o.bounds {
		if v >= bound {
			class++
		}
	}
	return class
}

// size is the number of different values, 0 if there are too many.
func (o *Operand) size() int {
	switch {
	case o.Page.Plane < 0:
		return len(o.Page.Entries)
	case !o.Alike:
		return 0
	}
	return len(o.Page.Entries) + len(o.bounds)
}

// Combiner numbers the combinations of values that records have. The zero value is ready to use. Not safe for concurrent use.
type Combiner struct {
	// n is one more than the greatest number. The numbers of records are in narrow or wide; all are 0 if both are nil. If separate is set,
	// they are the indexes of the records instead.
	n        int
	narrow   []uint8
	wide     []uint16
	separate bool
	borrowed bool // wide is of a page
	sizes    []int

	buffer []uint16 // the memory of wide
	known  []truth
	ends   []uint32
	// all are the indexes of all records, chosen those of the set, sorted the same by their numbers.
	all, chosen, sorted []uint32
}

// Combine numbers the combinations of the values of operands. If there may be more than most, which is at most MaxCombinations, it returns
// false, and each record has a number of its own.
func (c *Combiner) Combine(operands []Operand, most int) bool {
	c.n, c.narrow, c.wide, c.sizes, c.separate, c.borrowed = 1, nil, nil, c.sizes[:0], false, false
	for i := range operands {
		size := operands[i].size()
		c.sizes = append(c.sizes, size)
		if c.n *= size; c.n == 0 || c.n > most {
			c.n, c.separate = operands[0].Page.Records(), true
			return false
		}
	}
	for i := range operands {
		o := &operands[i]
		first := c.narrow == nil && c.wide == nil
		switch {
		case o.Page.Plane >= 0:
			c.addNumbers(o, c.sizes[i])
		case first:
			c.narrow, c.wide, c.borrowed = o.Page.IDs, o.Page.Wide, true
		case o.Page.IDs != nil:
			combine(c.widen(o.Page.Records()), o.Page.IDs, c.sizes[i])
		case o.Page.Wide != nil:
			combine(c.widen(o.Page.Records()), o.Page.Wide, c.sizes[i])
		}
	}
	return true
}

// combine combines the numbers so far with the ids of a page.
func combine[T uint8 | uint16](numbers []uint16, ids []T, size int) {
	numbers = numbers[:len(ids)]
	for i, id := range ids {
		numbers[i] = numbers[i]*uint16(size) + uint16(id)
	}
}

// widen moves the numbers so far to memory of the combiner, and returns it.
func (c *Combiner) widen(records int) []uint16 {
	if c.wide != nil && !c.borrowed {
		return c.wide
	}
	c.buffer = slices.Grow(c.buffer[:0], records)[:records]
	if c.narrow == nil && c.wide == nil {
		clear(c.buffer)
	}
	copy(c.buffer, c.wide)
	for i, id := range c.narrow {
		c.buffer[i] = uint16(id)
	}
	c.narrow, c.wide, c.borrowed = nil, c.buffer, false
	return c.wide
}

// addNumbers combines the numbers so far with an operand that has numbers. The first class has the page's entry of numbers, the others
// follow the entries.
func (c *Combiner) addNumbers(o *Operand, size int) {
	ids, entries := c.widen(o.Page.Records()), len(o.Page.Entries)
	for i, v := range o.Page.Numbers.Values {
		id := o.Page.ID(i)
		if id == o.Page.Plane {
			if class := o.class(v); class > 0 {
				id = entries - 1 + class
			}
		}
		ids[i] = ids[i]*uint16(size) + uint16(id)
	}
}

// Len is one more than the greatest number of a combination.
func (c *Combiner) Len() int { return c.n }

// Entry returns the entry of an operand's page in a combination, if the page has no numbers.
func (c *Combiner) Entry(combination, operand int) int {
	for _, size := range c.sizes[operand+1:] {
		combination /= size
	}
	return combination % c.sizes[operand]
}

// truth is the result of a condition for a combination, if known.
type truth uint8

const (
	unknown truth = iota
	isTrue
	notTrue
)

// Filter clears the elements of records for which a condition does not hold, and returns the number of the others. It calls holds with one
// record of each combination.
func (c *Combiner) Filter(records []bool, holds func(record int) bool) (kept int) {
	if c.separate {
		for i, is := range records {
			if records[i] = is && holds(i); records[i] {
				kept++
			}
		}
		return kept
	}
	c.known = slices.Grow(c.known[:0], c.n)[:c.n]
	clear(c.known)
	switch {
	case c.narrow != nil:
		return filter(records, c.narrow, c.known, holds)
	case c.wide != nil:
		return filter(records, c.wide, c.known, holds)
	}
	first := slices.Index(records, true)
	if first < 0 {
		return 0
	}
	if !holds(first) {
		clear(records)
		return 0
	}
	return countTrue(records)
}

func filter[T uint8 | uint16](records []bool, ids []T, known []truth, holds func(record int) bool) (kept int) {
	ids = ids[:len(records)]
	unseen := len(known)
	for i, is := range records {
		if !is {
			continue
		}
		k := known[ids[i]]
		if k == unknown {
			if k = notTrue; holds(i) {
				k = isTrue
			}
			known[ids[i]] = k
			unseen--
		}
		if k == isTrue {
			kept++
		} else {
			records[i] = false
		}
		if unseen == 0 {
			return kept + filterKnown(records[i+1:], ids[i+1:], known)
		}
	}
	return kept
}

// filterKnown is filter if the results of all combinations are known.
func filterKnown[T uint8 | uint16](records []bool, ids []T, known []truth) (kept int) {
	if !slices.Contains(known, notTrue) {
		return countTrue(records)
	}
	var table [1 << 8]bool // avoids checks of bounds
	if len(known) <= len(table) {
		for id, k := range known {
			table[id] = k == isTrue
		}
		for i, id := range ids {
			if records[i] = records[i] && table[uint8(id)]; records[i] {
				kept++
			}
		}
		return kept
	}
	for i, id := range ids {
		if records[i] = records[i] && known[id] == isTrue; records[i] {
			kept++
		}
	}
	return kept
}

func countTrue(records []bool) (n int) {
	for _, is := range records {
		if is {
			n++
		}
	}
	return n
}
