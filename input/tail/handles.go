package tail

import (
	"container/list"
	"os"
)

const (
	// maxOpenDefault is the default maximum of open files, if the process may open
	// four times as many.
	maxOpenDefault = 1024
	minOpen        = 8
)

// handles limits the number of open files. Files with unread data stay open: once
// deleted they could not be opened again.
type handles struct {
	limit int
	// used are the open files, most recently used first.
	used list.List
}

// add keeps f open if the limit allows it, after closing another file if needed.
func (h *handles) add(f *file, handle *os.File) bool {
	if h.used.Len() >= h.limit && !h.evict() {
		return false
	}
	f.handle, f.use = handle, h.used.PushFront(f)
	return true
}

// touch marks f as used now.
func (h *handles) touch(f *file) {
	if f.use != nil {
		h.used.MoveToFront(f.use)
	}
}

// close closes f if it is open.
func (h *handles) close(f *file) {
	if f.handle == nil {
		return
	}
	_ = f.handle.Close() // nothing was written
	h.used.Remove(f.use)
	f.handle, f.use, f.unpacked = nil, nil, nil
}

// evict closes the least recently used file without unread data; one without a path
// only if there is no other. It reports whether it closed one.
func (h *handles) evict() bool {
	var unlinked *file
	for e := h.used.Back(); e != nil; e = e.Prev() {
		f, ok := e.Value.(*file)
		if !ok || f.hasMore {
			continue
		}
		if f.goneSince.IsZero() {
			h.close(f)
			return true
		}
		if unlinked == nil {
			unlinked = f
		}
	}
	if unlinked == nil {
		return false
	}
	h.close(unlinked)
	return true
}
