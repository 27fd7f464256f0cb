package tail

import "maps"

// past are the files that are known but not being read: those of earlier runs,
// and those that were read to their end and lost their name.
type past struct {
	byID map[fileID]position
	// byInode finds files whose device has another number now, as it may have after each mount.
	byInode map[uint64][]fileID
	// byPlace finds files by the path that they had.
	byPlace map[string]map[fileID]bool
}

func newPast() past {
	return past{make(map[fileID]position), make(map[uint64][]fileID), make(map[string]map[fileID]bool)}
}

func (k past) add(p position) {
	k.remove(p.id)
	k.byID[p.id] = p
	k.byInode[p.id.inode] = append(k.byInode[p.id.inode], p.id)
	ids := k.byPlace[p.place()]
	if ids == nil {
		ids = make(map[fileID]bool)
		k.byPlace[p.place()] = ids
	}
	ids[p.id] = true
}

func (k past) remove(id fileID) {
	p, ok := k.byID[id]
	if !ok {
		return
	}
	delete(k.byID, id)
	var others []fileID
	for _, other := range k.byInode[id.inode] {
		if other != id {
			others = append(others, other)
		}
	}
	if k.byInode[id.inode] = others; len(others) == 0 {
		delete(k.byInode, id.inode)
	}
	if delete(k.byPlace[p.place()], id); len(k.byPlace[p.place()]) == 0 {
		delete(k.byPlace, p.place())
	}
}

// at are the files that had a place.
func (k past) at(place string) []position {
	var all []position
	for id := range maps.Keys(k.byPlace[place]) {
		all = append(all, k.byID[id])
	}
	return all
}

// elsewhere are the positions of files with the inode of id on other devices.
func (k past) elsewhere(id fileID) []position {
	var all []position
	for _, other := range k.byInode[id.inode] {
		if other != id {
			all = append(all, k.byID[other])
		}
	}
	return all
}
