// Package cache keeps what was read from storage in files, so that the same
// question is answered again without reading it again. What it holds never
// changes where it came from: the key identifies it completely.
//
// An entry is a file of its own: the bytes and their CRC-32C. Several processes
// may use one directory at a time. What cannot be read or written is as if it
// were not there.
package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSize is the size in bytes of all entries where no other is given.
const DefaultSize = 1 << 30

const (
	// maxEntry is the size of an entry that is kept at most.
	maxEntry = 16 << 20
	// trailer is the size of an entry's checksum.
	trailer = 4
	// touchAfter is how old an entry's last use may look.
	touchAfter = time.Hour
	// staleTemp is the age of an abandoned temporary file.
	staleTemp = time.Hour
	// shrinkTo is the share of the size, in per cent, that is left when it was exceeded.
	shrinkTo = 90
)

const tempPrefix = "new-"

// Cache is a directory of entries. Safe for concurrent use.
type Cache struct {
	dir  string
	size int64
	// written counts bytes since the sizes were last added up.
	written atomic.Int64
	// shrinking is held while they are.
	shrinking sync.Mutex
}

// Open makes the directory where it is missing, for this user alone. size bounds
// the bytes of all entries; 0 is DefaultSize. Close must be called.
func Open(dir string, size int64) (*Cache, error) {
	if size == 0 {
		size = DefaultSize
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	return &Cache{dir: dir, size: size}, nil
}

// path is the file of a key.
func (c *Cache) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:16])
	return filepath.Join(c.dir, name[:2], name[2:])
}

// Get returns the bytes of a key, if they are there and whole.
func (c *Cache) Get(key string) ([]byte, bool) {
	path := c.path(key)
	data, err := os.ReadFile(path)
	if err != nil || len(data) < trailer {
		return nil, false
	}
	data, sum := data[:len(data)-trailer], binary.LittleEndian.Uint32(data[len(data)-trailer:])
	if crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) != sum {
		_ = os.Remove(path)
		return nil, false
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > touchAfter {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // only the order of removal suffers
	}
	return data, true
}

// Remove forgets the bytes of a key: they are not what they should be.
func (c *Cache) Remove(key string) { _ = os.Remove(c.path(key)) }

// Put keeps the bytes of a key. It is a loss of time alone if that fails. While the cache is open, which that of a server is for
// months, it grows beyond its size by a quarter at most.
func (c *Cache) Put(key string, data []byte) {
	if len(data) > maxEntry || int64(len(data)) > c.size/4 {
		return
	}
	path := c.path(key)
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	if c.put(path, data, binary.LittleEndian.AppendUint32(nil, sum)) != nil {
		return
	}
	if c.written.Add(int64(len(data)+trailer)) > c.size/4 && c.shrinking.TryLock() {
		defer c.shrinking.Unlock()
		_ = c.shrink(func() error { return nil }) // the next one tries again
	}
}

func (c *Cache) put(path string, parts ...[]byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, tempPrefix)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		f, err = os.CreateTemp(dir, tempPrefix)
	}
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path) //nolint:forbidigo // what a crash leaves of it has a wrong checksum
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// entry is a file of the cache.
type entry struct {
	path string
	size int64
	used time.Time
}

// Close removes what was not used for longest, as far as the cache has become too
// large. It checks that only when something was written.
func (c *Cache) Close(ctx context.Context) error {
	c.shrinking.Lock()
	defer c.shrinking.Unlock()
	return c.shrink(func() error { return context.Cause(ctx) })
}

// shrink is Close; stopped is why it should end before.
func (c *Cache) shrink(stopped func() error) error {
	if c.written.Swap(0) == 0 {
		return nil
	}
	var all []entry
	var sum int64
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err := stopped(); err != nil {
			return err
		}
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // others remove entries too
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if strings.HasPrefix(d.Name(), tempPrefix) && time.Since(info.ModTime()) > staleTemp {
			return os.Remove(path)
		}
		all = append(all, entry{path, info.Size(), info.ModTime()})
		sum += info.Size()
		return nil
	})
	if err != nil || sum <= c.size {
		return err
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.path, b.path)) })
	for _, e := range all {
		if sum <= c.size/100*shrinkTo {
			break
		}
		if err := os.Remove(e.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make the cache smaller: %w", err)
		}
		sum -= e.size
	}
	return nil
}
