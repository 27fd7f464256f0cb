package tail

import (
	"io"
	"maps"
)

// known is a file that was seen before: one that is being read or one of an earlier
// run, or one that was read to its end and then renamed or deleted.
type known struct {
	// past is the position of a file that is not being read.
	past position
	// live is nil for a file that is not being read.
	live live
	// state is what is known about the deletion of a file that is not being read.
	state removal
}

// live is a file that is being read.
type live interface {
	current() position
	// content opens the file, which stays open.
	content() (r io.ReaderAt, size int64, err error)
}

// removal is the progress towards forgetting a file.
type removal uint8

const (
	present removal = iota
	// removed files are forgotten after a search for their copies.
	removed
	// searched: the search has begun.
	searched
)

func (k *known) position() position {
	if k.live != nil {
		return k.live.current()
	}
	return k.past
}

// catalog are the known files.
type catalog struct {
	byID map[fileID]*known
	// byInode finds files whose device number changed, as it may after a mount.
	byInode map[uint64][]fileID
	// byPlace finds files by their resolved path.
	byPlace map[string]map[fileID]bool
}

func newCatalog() *catalog {
	return &catalog{make(map[fileID]*known), make(map[uint64][]fileID), make(map[string]map[fileID]bool)}
}

// add adds a file that is not being read.
func (c *catalog) add(p position) { c.put(p.id, p.resolvedPath(), &known{past: p}) }

// addLive adds a file that is being read.
func (c *catalog) addLive(id fileID, place string, l live) {
	c.put(id, place, &known{live: l, past: position{id: id, path: place}})
}

func (c *catalog) put(id fileID, place string, k *known) {
	c.remove(id)
	c.byID[id] = k
	c.byInode[id.inode] = append(c.byInode[id.inode], id)
	if c.byPlace[place] == nil {
		c.byPlace[place] = make(map[fileID]bool)
	}
	c.byPlace[place][id] = true
}

func (c *catalog) remove(id fileID) {
	k, ok := c.byID[id]
	if !ok {
		return
	}
	delete(c.byID, id)
	var others []fileID
	for _, other := range c.byInode[id.inode] {
		if other != id {
			others = append(others, other)
		}
	}
	if c.byInode[id.inode] = others; len(others) == 0 {
		delete(c.byInode, id.inode)
	}
	place := k.past.resolvedPath()
	if delete(c.byPlace[place], id); len(c.byPlace[place]) == 0 {
		delete(c.byPlace, place)
	}
}

// forget removes a file unless it is being read.
func (c *catalog) forget(id fileID) {
	if !c.isLive(id) {
		c.remove(id)
	}
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
func (c *catalog) at(place string) []*known {
	var all []*known
	for id := range maps.Keys(c.byPlace[place]) {
		all = append(all, c.byID[id])
	}
	return all
}

// onOtherDevices are the positions of files that are not being read, with the same inode on other devices.
func (c *catalog) onOtherDevices(id fileID) []position {
	var all []position
	for _, other := range c.byInode[id.inode] {
		if p, ok := c.past(other); ok && other != id {
			all = append(all, p)
		}
	}
	return all
}
