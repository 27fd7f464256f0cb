//go:build !linux

package disk

// Space is unknown here.
func (OS) Space(string) (Space, error) { return Space{}, nil }

// Allocate writes zeros.
func (f file) Allocate(size int64) error { return f.fill(size) }
