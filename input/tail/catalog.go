package tail

import (
	"io"
	"slices"
)

// known is a file that was seen before: one that is being read or one of an earlier
// run, or one that was read to its end and then renamed or deleted.
type known struct {
	// past is the position of a file that is not being read.
	past position
	// live is nil for a file that is not being read.
	live live
}

// live is a file that is being read.
type live interface {
	current() position
	// content opens the file, which stays open.
	content() (r io.ReaderAt, size int64, err error)
}

func (k *known) position() position {
	if k.live != nil {
		return k.live.current()
	}
	return k.past
}

// catalog are the known files.
type catalog struct {
	byID map[fileID]*known
	// byInode finds files that are not being read whose device number changed, as it may
	// after a mount.
	byInode map[uint64][]*known
	// byPlace finds files by their resolved path.
	byPlace map[string][]*known
	// removed are files that are not being read and are to be forgotten after a search for
	// their copies, with whether it has begun.
	removed map[fileID]bool
}

func newCatalog() *catalog {
	return &catalog{make(map[fileID]*known), make(map[uint64][]*known), make(map[string][]*known), make(map[fileID]bool)}
}

// add adds a file that is not being read.
func (c *catalog) add(p position) {
	c.remove(p.id)
	k := &known{past: p}
	c.byID[p.id] = k
	c.byInode[p.id.inode] = append(c.byInode[p.id.inode], k)
	c.byPlace[p.resolvedPath()] = append(c.byPlace[p.resolvedPath()], k)
}

// addLive adds a file that is being read.
func (c *catalog) addLive(id fileID, place string, l live) {
	c.remove(id)
	k := &known{past: position{id: id, path: place}, live: l}
	c.byID[id] = k
	c.byPlace[place] = append(c.byPlace[place], k)
}

func (c *catalog) remove(id fileID) {
	k, ok := c.byID[id]
	if !ok {
		return
	}
	delete(c.byID, id)
	delete(c.removed, id)
	removeKnown(c.byInode, id.inode, k)
	removeKnown(c.byPlace, k.past.resolvedPath(), k)
}

func removeKnown[K comparable](index map[K][]*known, key K, k *known) {
	rest := slices.DeleteFunc(index[key], func(other *known) bool { return other == k })
	if index[key] = rest; len(rest) == 0 {
		delete(index, key)
	}
}

// forget removes a file unless it is being read.
func (c *catalog) forget(id fileID) {
	if !c.isLive(id) {
		c.remove(id)
	}
}

// beginSearch notes that a search for the copies of removed files begins.
func (c *catalog) beginSearch() {
	for id := range c.removed {
		c.removed[id] = true
	}
}

// searched are the removed files whose copies were searched for.
func (c *catalog) searched() []fileID {
	var ids []fileID
	for id, searched := range c.removed {
		if searched {
			ids = append(ids, id)
		}
	}
	return ids
}

// past returns the position of a file that is not being read.
func (c *catalog) past(id fileID) (position, bool) {
	if k := c.byID[id]; k != nil && k.live == nil {
		return k.past, true
	}
	return position{}, false
}

// isLive reports whether a file is being read.
func (c *catalog) isLive(id fileID) bool {
	k := c.byID[id]
	return k != nil && k.live != nil
}

// at are the files of a resolved path.
func (c *catalog) at(place string) []*known { return c.byPlace[place] }

// onOtherDevices are the positions of files that are not being read, with the same inode on other devices.
func (c *catalog) onOtherDevices(id fileID) []position {
	var all []position
	for _, k := range c.byInode[id.inode] {
		if k.past.id != id {
			all = append(all, k.past)
		}
	}
	return all
}
