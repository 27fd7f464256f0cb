package tail

import "maps"

// history are the known files that are not being read: those of earlier runs, and those
// that were read to their end and then renamed or deleted.
type history struct {
	byID map[fileID]position
	// byInode finds files whose device number changed, as it may after a mount.
	byInode map[uint64][]fileID
	// byPlace finds files by their resolved path.
	byPlace map[string]map[fileID]bool
}

func newHistory() history {
	return history{make(map[fileID]position), make(map[uint64][]fileID), make(map[string]map[fileID]bool)}
}

func (h history) add(p position) {
	h.remove(p.id)
	h.byID[p.id] = p
	h.byInode[p.id.inode] = append(h.byInode[p.id.inode], p.id)
	ids := h.byPlace[p.resolvedPath()]
	if ids == nil {
		ids = make(map[fileID]bool)
		h.byPlace[p.resolvedPath()] = ids
	}
	ids[p.id] = true
}

func (h history) remove(id fileID) {
	p, ok := h.byID[id]
	if !ok {
		return
	}
	delete(h.byID, id)
	var others []fileID
	for _, other := range h.byInode[id.inode] {
		if other != id {
			others = append(others, other)
		}
	}
	if h.byInode[id.inode] = others; len(others) == 0 {
		delete(h.byInode, id.inode)
	}
	if delete(h.byPlace[p.resolvedPath()], id); len(h.byPlace[p.resolvedPath()]) == 0 {
		delete(h.byPlace, p.resolvedPath())
	}
}

// at are the files of a resolved path.
func (h history) at(place string) []position {
	var all []position
	for id := range maps.Keys(h.byPlace[place]) {
		all = append(all, h.byID[id])
	}
	return all
}

// elsewhere are the positions of files with the same inode on other devices.
func (h history) elsewhere(id fileID) []position {
	var all []position
	for _, other := range h.byInode[id.inode] {
		if other != id {
			all = append(all, h.byID[other])
		}
	}
	return all
}
