package tail

import (
	"container/list"
	"io"
	"os"
	"time"
)

// handle is a file that can be opened again.
type handle struct {
	// opened is the open file, nil while it is closed; use is its element in [handles].
	opened *os.File
	use    *list.Element
	// unpacked reads the decompressed content from the current offset on; nil if the file is closed.
	unpacked io.Reader
	// hasMore reports that there is or may be unread data.
	hasMore bool
	// goneSince is when the file was first found to be at no path that a pattern matches;
	// zero while it is at such a path.
	goneSince time.Time
}

// isRemoved reports whether the file is open and was deleted.
func (f *handle) isRemoved() bool {
	if f.opened == nil {
		return false
	}
	info, err := f.opened.Stat()
	return err == nil && isRemoved(info)
}

// handles limits the number of open files. Files with unread data stay open: once
// deleted they could not be opened again.
type handles struct {
	limit int
	// used are the open files, most recently used first.
	used list.List
}

// add keeps f open if the limit allows it, after closing another file if needed.
func (h *handles) add(f *handle, opened *os.File) bool {
	if h.used.Len() >= h.limit && !h.evict() {
		return false
	}
	f.opened, f.use = opened, h.used.PushFront(f)
	return true
}

// close closes f if it is open.
func (h *handles) close(f *handle) {
	if f.opened == nil {
		return
	}
	_ = f.opened.Close() // nothing was written
	h.used.Remove(f.use)
	f.opened, f.use, f.unpacked = nil, nil, nil
}

// evict closes the least recently used file without unread data. It closes a file that is at no
// matching path only if there is no other. It reports whether it closed one.
func (h *handles) evict() bool {
	var unlinked *handle
	for e := h.used.Back(); e != nil; e = e.Prev() {
		f, ok := e.Value.(*handle)
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
