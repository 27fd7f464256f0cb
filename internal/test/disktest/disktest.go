// Package disktest is a file system in memory for tests. Any step of it can fail, be
// torn or be the last before the machine loses power; a crash loses unsynced data.
package disktest

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"logstow/buffer/disk"
)

// ErrDead is the error of every step after Die.
var ErrDead = errors.New("the machine has no power")

// Fault is an injected fault.
type Fault uint8

// The faults.
const (
	// Fail makes the step fail with an I/O error and change nothing.
	Fail Fault = iota
	// Full makes it fail with ENOSPC.
	Full
	// Tear makes a write fail after its first half.
	Tear
	// Die makes it and all later steps fail, a write after a part of it.
	Die
)

// FS is a file system in memory. Safe for concurrent use.
type FS struct {
	mu sync.Mutex
	// names are all files by path, durable those whose names survive a crash.
	names, durable map[string]*inode
	// steps counts calls, except those that only read an open file; step number at fails, and
	// with lasting set all later ones too.
	steps   int
	at      int
	fault   Fault
	lasting bool
	dead    bool
	// capacity is the size of the disk in bytes, 0 is unlimited; used is how many bytes files
	// use, in blocks, others how many other programs use.
	capacity, used, others int64
	// handles is the number of open files.
	handles int
	// unopened makes opening fail for paths that contain it, with openError.
	unopened  string
	openError error
}

type inode struct {
	data, synced []byte
	// low is the offset from which data and synced may differ, links the number of its names.
	low, links int
}

// Block is the unit in bytes in which files use space; an empty file uses one.
const Block = 4096

// blocks returns how many bytes a file of a size uses.
func blocks(size int) int64 { return max(1, (int64(size)+Block-1)/Block) * Block }

func newNode(data []byte) *inode {
	return &inode{data: data, synced: slices.Clone(data), low: len(data), links: 1}
}

// New makes an empty file system.
func New() *FS { return &FS{names: map[string]*inode{}, durable: map[string]*inode{}} }

// Arm makes the nth step from now fail, counted from 1; 0 is none.
func (f *FS) Arm(n int, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps, f.at, f.fault, f.lasting = 0, n, fault, false
}

// ArmFrom makes the nth step from now and all later ones fail, until Arm is called.
func (f *FS) ArmFrom(n int, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps, f.at, f.fault, f.lasting = 0, n, fault, true
}

// Limit sets the size of the disk in bytes; 0 is unlimited. Existing files stay.
func (f *FS) Limit(capacity int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = capacity
}

// Occupy makes other programs use all space but left bytes.
func (f *FS) Occupy(left int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.others = max(0, f.capacity-f.used-left)
}

// FailReads makes every Open fail while on is set, as if the disk could not read.
func (f *FS) FailReads(on bool) {
	if on {
		f.FailOpen("", syscall.EIO)
	} else {
		f.FailOpen("", nil)
	}
}

// FailOpen makes Open fail with err for every path that contains part; nil ends that.
func (f *FS) FailOpen(part string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unopened, f.openError = part, err
}

// Steps is the number of steps since Arm.
func (f *FS) Steps() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.steps
}

// Crash returns what a crash leaves: synced names and bytes, and randomly some that were
// not synced. With lose unset only the process crashes and nothing is lost.
func (f *FS) Crash(rnd *rand.Rand, lose bool) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	after := New()
	if !lose {
		for name, node := range f.names {
			after.names[name] = newNode(slices.Clone(node.data))
		}
	} else {
		all := maps.Clone(f.durable)
		maps.Copy(all, f.names)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			node := f.durable[name]
			if now := f.names[name]; now != node && rnd.IntN(2) == 0 {
				node = now
			}
			if node != nil {
				after.names[name] = newNode(node.left(rnd))
			}
		}
	}
	after.capacity = f.capacity
	for name, node := range after.names {
		after.durable[name] = node
		after.used += blocks(len(node.data))
	}
	return after
}

// block is the unit in which overwritten data may be lost.
const block = 64

// left returns what a crash leaves of a file: the synced bytes, a part of those appended
// since, and any of the blocks that were overwritten since.
func (n *inode) left(rnd *rand.Rand) []byte {
	if len(n.data) < len(n.synced) && rnd.IntN(2) == 0 { // the truncation is lost
		return append(slices.Clone(n.data), n.synced[len(n.data):]...)
	}
	data := slices.Clone(n.data)
	if len(n.data) > len(n.synced) {
		data = data[:len(n.synced)+rnd.IntN(len(n.data)-len(n.synced)+1)]
	}
	for at := 0; at < min(len(data), len(n.synced)); at += block {
		if end := min(at+block, len(data), len(n.synced)); rnd.IntN(2) == 0 {
			copy(data[at:end], n.synced[at:end])
		}
	}
	return data
}

// step counts a step and returns its fault. mu is held.
func (f *FS) step() (tear bool, err error) {
	f.steps++
	if f.dead {
		return false, ErrDead
	}
	if later := f.lasting && f.at > 0 && f.steps > f.at; f.steps != f.at && !later {
		return false, nil
	}
	switch f.fault {
	case Full:
		return false, syscall.ENOSPC
	case Tear:
		return true, syscall.EIO
	case Die:
		f.dead = true
		return true, ErrDead
	}
	return false, syscall.EIO
}

// Handles is the number of open files, of which a closed buffer has none.
func (f *FS) Handles() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.handles
}

// take allocates n bytes of space. mu is held.
func (f *FS) take(n int64) error {
	if f.capacity > 0 && n > 0 && f.used+f.others+n > f.capacity {
		return syscall.ENOSPC
	}
	f.used += n
	return nil
}

// unlink removes a name of a file. mu is held.
func (f *FS) unlink(node *inode) {
	if node == nil {
		return
	}
	if node.links--; node.links == 0 {
		f.used -= blocks(len(node.data))
	}
}

// List returns the files of a directory.
func (f *FS) List(dir string) ([]disk.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, ErrDead
	}
	var infos []disk.Info
	for _, path := range slices.Sorted(maps.Keys(f.names)) {
		if filepath.Dir(path) == dir {
			infos = append(infos, disk.Info{Name: filepath.Base(path), Size: int64(len(f.names[path].data))})
		}
	}
	return infos, nil
}

// MkdirAll may fail, but does nothing: directories exist implicitly.
func (f *FS) MkdirAll(string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.step()
	return err
}

// Space returns the size that Limit set; unknown without a limit.
func (f *FS) Space(string) (disk.Space, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return disk.Space{Total: f.capacity, Free: max(0, f.capacity-f.used-f.others)}, nil
}

// Rename renames a file.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(); err != nil {
		return err
	}
	node := f.names[from]
	if node == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	delete(f.names, from)
	f.unlink(f.names[to])
	f.names[to] = node
	return nil
}

// Link makes a second name for a file.
func (f *FS) Link(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(); err != nil {
		return err
	}
	if f.names[to] != nil {
		return &fs.PathError{Op: "link", Path: to, Err: fs.ErrExist}
	}
	f.names[to] = f.names[from]
	f.names[to].links++
	return nil
}

// Remove removes a file.
func (f *FS) Remove(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(); err != nil {
		return err
	}
	if f.names[path] == nil {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	}
	f.unlink(f.names[path])
	delete(f.names, path)
	return nil
}

// SyncDir makes the names in a directory durable.
func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(); err != nil {
		return err
	}
	maps.DeleteFunc(f.durable, func(path string, _ *inode) bool { return filepath.Dir(path) == dir })
	for path, node := range f.names {
		if filepath.Dir(path) == dir {
			f.durable[path] = node
		}
	}
	return nil
}

// Paths returns the paths of all files that contain part.
func (f *FS) Paths(part string) (paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(f.names)) {
		if strings.Contains(path, part) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Change replaces the content of a file, to damage it.
func (f *FS) Change(path string, change func([]byte) []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	node := f.names[path]
	f.used -= blocks(len(node.data))
	node.data = change(node.data)
	f.used += blocks(len(node.data))
	node.low = 0
}
