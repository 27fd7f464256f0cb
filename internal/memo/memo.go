// Package memo remembers what was made before.
package memo

import "cmp"

// DefaultMax is the default of [Map.Max].
const DefaultMax = 128

// Map remembers values by key. The zero value is ready to use. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	// Max is how many values are remembered: one more makes it forget all. 0 is [DefaultMax].
	Max int

	known map[K]V
}

// Get returns the value of a key; if it is not known, that of make.
func (m *Map[K, V]) Get(key K, make func() V) V {
	if v, ok := m.known[key]; ok {
		return v
	}
	return m.add(key, make())
}

// Text is [Map.Get] for texts, which are copied only if they are not known.
func Text[V any](m *Map[string, V], text []byte, make func(text string) V) V {
	if v, ok := m.known[string(text)]; ok {
		return v
	}
	key := string(text)
	return m.add(key, make(key))
}

// Same returns its argument: with it, [Text] allocates equal texts once.
func Same(text string) string { return text }

func (m *Map[K, V]) add(key K, v V) V {
	if m.known == nil {
		m.known = map[K]V{}
	}
	if len(m.known) >= cmp.Or(m.Max, DefaultMax) {
		clear(m.known)
	}
	m.known[key] = v
	return v
}
