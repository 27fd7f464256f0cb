package wal

import (
	"slices"
	"strings"
)

// Position is how far an input was read; only the input interprets Value. An empty Value deletes
// the input's position.
type Position struct {
	Input string
	Value []byte
}

// KeyPrefix begins the names of positions that hold keys of requests and not how far an input was read. They are kept
// when positions are lost, and no records are read again from them.
const KeyPrefix = "keys/"

// rereads reports whether the input can read records again from the position.
func (p Position) rereads() bool { return !strings.HasPrefix(p.Input, KeyPrefix) }

// Positions are the last positions of all inputs, by name of the input.
type Positions map[string][]byte

// Apply updates the positions with newer ones, which it copies.
func (p Positions) Apply(newer []Position) {
	for _, n := range newer {
		if len(n.Value) == 0 {
			delete(p, n.Input)
		} else {
			p[n.Input] = slices.Clone(n.Value)
		}
	}
}

// WithPrefix returns the positions of the inputs whose names start with prefix, in order of name.
func (p Positions) WithPrefix(prefix string) []Position {
	var all []Position
	for input, value := range p {
		if strings.HasPrefix(input, prefix) {
			all = append(all, Position{Input: input, Value: value})
		}
	}
	slices.SortFunc(all, func(x, y Position) int { return strings.Compare(x.Input, y.Input) })
	return all
}
