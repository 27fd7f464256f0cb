package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"logstow/store"
)

// maxComponent is the longest file name, in bytes, that file systems allow.
const maxComponent = 255

// path returns the path of a blob's file. The error is why the name is invalid.
func (b blobs) path(name string) (string, error) {
	inContainer := strings.TrimPrefix(name, b.root)
	if err := store.CheckName(inContainer); err != nil {
		return "", err
	}
	for component := range strings.SplitSeq(inContainer, "/") {
		if len(component) > maxComponent {
			return "", errors.New("name has a component of more than 255 bytes, the limit of file names")
		}
	}
	if first, _, _ := strings.Cut(inContainer, "/"); b.reserves(first) {
		return "", errors.New("name lies in " + first + ", which is the store's own")
	}
	return b.file(name), nil
}

// reserves reports whether no blob may be in a directory at the top of the container.
func (b blobs) reserves(dir string) bool { return b.root == "" && (dir == hidden || dir == compacted) }

// dir is the directory of the container.
func (b blobs) dir() string { return b.file(b.root) }

// file is the path of a blob that a listing found.
func (s *Store) file(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// span is a range of names: those greater than after, up to and including to; "" means no limit.
type span struct{ after, to string }

// skips reports whether the span begins after a file, or after all names in a directory.
func (r span) skips(e entry) bool {
	return e.name <= r.after && (!e.dir || !strings.HasPrefix(r.after, e.name))
}

// ends reports whether the span ends before a file or directory.
func (r span) ends(e entry) bool { return r.to != "" && e.name > r.to }

// walk yields, in byte order of the whole name, the names of the files in a span that start with
// prefix. It does not stat entries: reading a directory gives names and types. A directory removed
// meanwhile is empty.
func (b blobs) walk(ctx context.Context, prefix string, in span) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range b.entries(ctx, prefix) {
			if err != nil {
				yield("", err)
				return
			}
			if in.ends(e) {
				return
			}
			if in.skips(e) {
				continue
			}
			if !e.dir {
				if !yield(e.name, nil) {
					return
				}
				continue
			}
			for name, err := range b.walk(ctx, e.name, in) {
				if !yield(name, err) || err != nil {
					return
				}
			}
		}
	}
}

// entry is a file, or a directory whose name ends in '/'.
type entry struct {
	name string
	dir  bool
}

// entries yields the files and directories that start with prefix and have no further '/' except at
// their end, in byte order.
func (b blobs) entries(ctx context.Context, prefix string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		if err := contextError(ctx, "list", prefix); err != nil {
			yield(entry{}, err)
			return
		}
		entries, err := b.readDir(ctx, prefix)
		if err != nil {
			yield(entry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (b blobs) readDir(ctx context.Context, prefix string) ([]entry, error) {
	parent := prefix[:strings.LastIndexByte(prefix, '/')+1]
	dir := b.dir()
	if parent != b.root {
		sub, err := b.path(strings.TrimSuffix(parent, "/"))
		if err != nil {
			return nil, b.checkContainer(ctx) // No blob has such a name.
		}
		dir = sub
	}
	found, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, b.checkContainer(ctx)
	case err != nil:
		return nil, b.db.classify(ctx, "list", cmp.Or(prefix, dir), err)
	}
	entries := make([]entry, 0, len(found))
	for _, f := range found {
		e := entry{name: parent + f.Name(), dir: f.IsDir()}
		if parent == b.root && b.reserves(f.Name()) {
			continue
		}
		inContainer := strings.TrimPrefix(e.name, b.root)
		if e.dir {
			e.name += "/"
		}
		if !strings.HasPrefix(e.name, prefix) {
			continue
		}
		if why := unlisted(inContainer, f.Type()); why != "" {
			b.leftOut.add(inContainer, why)
			continue
		}
		entries = append(entries, e)
	}
	// A directory sorts by the names in it: "a-b/" comes before "a/".
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, nil
}

// checkContainer is nil if the container's directory exists.
func (b blobs) checkContainer(ctx context.Context) error {
	dir := b.dir()
	info, err := os.Stat(dir)
	missing := &store.Error{Op: "open", Object: dir, Class: store.ErrNoContainer}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		missing.Err, missing.Hint = errors.New("no such directory"), "check the path; shipper creates the directory when it stores the first segment"
		if b.root != "" {
			missing.Hint = "shipper compact creates the directory when it stores its first output"
		}
		return missing
	case err == nil && !info.IsDir() && b.root != "":
		return &store.Error{Op: "open", Object: dir, Class: store.ErrUnusable, Err: errors.New("it is a file"), Hint: hintPath}
	case err == nil && !info.IsDir():
		missing.Err, missing.Hint = errors.New("it is a file"), "a store is a directory; logq query --file reads a log file without a store"
		return missing
	default:
		return b.db.classify(ctx, "open", dir, err)
	}
}

// checkWriters is an error if b is the compacted container and other users may write to it: what they write would count as
// output of compaction. A missing directory is created by Create, without that permission.
func (b blobs) checkWriters(ctx context.Context, op string) error {
	if b.root == "" {
		return nil
	}
	dir := b.dir()
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return b.db.classify(ctx, op, dir, err)
	case info.Mode().Perm()&othersWrite != 0:
		return &store.Error{
			Op: op, Object: dir, Class: store.ErrUnusable,
			Err: fmt.Errorf("users other than its owner may write to it (mode %s): only shipper compact and shipper retain may",
				info.Mode().Perm()),
			Hint: "check that its files are those of shipper compact, then run: chmod -R go-w " + dir,
		}
	default:
		return nil
	}
}
