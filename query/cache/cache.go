// Package cache caches immutable data from storage in files. A key must identify the data completely.
//
// Each entry is a file with the bytes and their CRC-32C. Several processes may use the same directory. Failures to read or write an
// entry are cache misses.
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

	"logstow/internal/limited"
)

// DefaultSize is the default maximum size of all entries in bytes.
const DefaultSize = 1 << 30

const (
	// maxEntry is the maximum size of an entry in bytes.
	maxEntry = 16 << 20
	// trailer is the size of an entry's checksum.
	trailer = 4
	// touchAfter is the resolution of the time of last use: the modification time is only updated if it is older.
	touchAfter = time.Hour
	// staleTemp is the age at which a temporary file is abandoned.
	staleTemp = time.Hour
	// shrinkTo is the percentage of the maximum size to which the cache shrinks when it is exceeded.
	shrinkTo = 90
)

const tempPrefix = "new-"

// Cache is a directory of entries. Safe for concurrent use.
type Cache struct {
	dir  string
	size int64
	// written is the number of bytes written since the last shrink.
	written atomic.Int64
	// shrinking is held by shrink.
	shrinking sync.Mutex
}

// Open opens a cache directory. If it does not exist, Open creates it with access for this user only. size is the maximum size of all
// entries in bytes; 0 is DefaultSize. The caller must call Close.
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

// Get returns the bytes of a key; not ok if there is no intact entry.
func (c *Cache) Get(key string) ([]byte, bool) {
	path := c.path(key)
	data, err := limited.Regular(path, maxEntry+trailer)
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
		_ = os.Chtimes(path, now, now) // a failure only affects the order of removal
	}
	return data, true
}

// Remove removes the entry of a key, whose bytes are wrong.
func (c *Cache) Remove(key string) { _ = os.Remove(c.path(key)) }

// Put stores the bytes of a key. It ignores failures. An open cache exceeds its maximum size by at most a quarter.
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
		_ = c.shrink(func() error { return nil }) // a later Put tries again
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
		err = os.Rename(f.Name(), path) //nolint:forbidigo // need not be durable: the checksum detects a crash
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

// Close removes the least recently used entries if the cache exceeds its maximum size. It checks the size only if something was written.
func (c *Cache) Close(ctx context.Context) error {
	c.shrinking.Lock()
	defer c.shrinking.Unlock()
	return c.shrink(func() error { return context.Cause(ctx) })
}

// shrink is Close without the lock. It ends early if stopped returns an error.
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
