package tail

import (
	"io"
	"slices"
)

// knownFile is a file that was seen before: it is being read, was read by an earlier run, or
// was read to its end and then renamed or deleted.
type knownFile struct {
	// past is the last position of a file that is not being read.
	past position
	// live is the file if it is being read, otherwise nil.
	live live
}

// live is a file that is being read.
type live interface {
	// current returns the current position.
	current() position
	// content opens the file, which stays open, and returns it with its size.
	content() (r io.ReaderAt, size int64, err error)
}

func (k *knownFile) position() position {
	if k.live != nil {
		return k.live.current()
	}
	return k.past
}

// catalog is the set of known files.
type catalog struct {
	byID map[fileID]*knownFile
	// byInode has the files that are not being read. It finds those whose device number changed,
	// for example after a mount.
	byInode map[uint64][]*knownFile
	// byResolved has the files by their path with symbolic links resolved.
	byResolved map[string][]*knownFile
	// removed has the files that are not being read and are to be forgotten after a search for
	// their copies. The value reports whether the search has begun.
	removed map[fileID]bool
}

func newCatalog() *catalog {
	return &catalog{make(map[fileID]*knownFile), make(map[uint64][]*knownFile), make(map[string][]*knownFile), make(map[fileID]bool)}
}

// add adds a file that is not being read.
func (c *catalog) add(p position) {
	c.remove(p.id)
	k := &knownFile{past: p}
	c.byID[p.id] = k
	c.byInode[p.id.inode] = append(c.byInode[p.id.inode], k)
	c.byResolved[p.resolvedPath()] = append(c.byResolved[p.resolvedPath()], k)
}

// addLive adds a file that is being read.
func (c *catalog) addLive(id fileID, resolved string, l live) {
	c.remove(id)
	k := &knownFile{past: position{id: id, path: resolved}, live: l}
	c.byID[id] = k
	c.byResolved[resolved] = append(c.byResolved[resolved], k)
}

func (c *catalog) remove(id fileID) {
	k, ok := c.byID[id]
	if !ok {
		return
	}
	delete(c.byID, id)
	delete(c.removed, id)
	removeKnown(c.byInode, id.inode, k)
	removeKnown(c.byResolved, k.past.resolvedPath(), k)
}

func removeKnown[K comparable](index map[K][]*knownFile, key K, k *knownFile) {
	rest := slices.DeleteFunc(index[key], func(other *knownFile) bool { return other == k })
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

// beginSearch records that a search for the copies of removed files begins.
func (c *catalog) beginSearch() {
	for id := range c.removed {
		c.removed[id] = true
	}
}

// searched returns the removed files whose copies were searched for.
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

// at returns the files of a resolved path.
func (c *catalog) at(resolved string) []*knownFile { return c.byResolved[resolved] }

// onOtherDevices returns the positions of files that are not being read and have the same inode on other devices.
func (c *catalog) onOtherDevices(id fileID) []position {
	var all []position
	for _, k := range c.byInode[id.inode] {
		if k.past.id != id {
			all = append(all, k.past)
		}
	}
	return all
}
