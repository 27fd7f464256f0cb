package tail

import (
	"container/list"
	"os"
)

const (
	// maxHandles is how many files are kept open where nothing else is configured,
	// if the system allows four times as many.
	maxOpenDefault = 1024
	minOpen        = 8
)

// handles bounds how many files are open. Which are not read to their end stay
// open: once deleted they could not be opened again.
type handles struct {
	limit int
	// used are the open files, that used last first.
	used list.List
}

// add keeps f open, if there is room or can be made.
func (h *handles) add(f *file, handle *os.File) bool {
	if h.used.Len() >= h.limit && !h.evict() {
		return false
	}
	f.handle, f.use = handle, h.used.PushFront(f)
	return true
}

// touch says that f is used now.
func (h *handles) touch(f *file) {
	if f.use != nil {
		h.used.MoveToFront(f.use)
	}
}

// close closes f, if it is open.
func (h *handles) close(f *file) {
	if f.handle == nil {
		return
	}
	_ = f.handle.Close() // nothing was written: no error can lose anything
	h.used.Remove(f.use)
	f.handle, f.use, f.unpacked = nil, nil, nil
}

// evict closes the file not used for longest among those read to their end;
// one without a name only where there is no other.
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
