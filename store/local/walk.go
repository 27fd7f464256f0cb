package local

import (
	"cmp"
	"context"
	"errors"
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
func (s *Store) path(name string) (string, error) {
	if err := store.CheckName(name); err != nil {
		return "", err
	}
	first := true
	for component := range strings.SplitSeq(name, "/") {
		if len(component) > maxComponent {
			return "", errors.New("name has a component of more than 255 bytes, the limit of file names")
		}
		if first && component == hidden {
			return "", errors.New("name lies in " + hidden + ", which is the store's own")
		}
		first = false
	}
	return s.file(name), nil
}

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
func (s *Store) walk(ctx context.Context, prefix string, in span) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range s.entries(ctx, prefix) {
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
			for name, err := range s.walk(ctx, e.name, in) {
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
func (s *Store) entries(ctx context.Context, prefix string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		if err := contextError(ctx, "list", prefix); err != nil {
			yield(entry{}, err)
			return
		}
		entries, err := s.readDir(ctx, prefix)
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

func (s *Store) readDir(ctx context.Context, prefix string) ([]entry, error) {
	parent := prefix[:strings.LastIndexByte(prefix, '/')+1]
	dir := s.dir
	if parent != "" {
		sub, err := s.path(strings.TrimSuffix(parent, "/"))
		if err != nil {
			return nil, s.checkContainer(ctx) // No blob has such a name.
		}
		dir = sub
	}
	found, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, s.checkContainer(ctx)
	case err != nil:
		return nil, s.db.classify(ctx, "list", cmp.Or(prefix, s.dir), err)
	}
	entries := make([]entry, 0, len(found))
	for _, f := range found {
		e := entry{name: parent + f.Name(), dir: f.IsDir()}
		switch {
		case !e.dir && !f.Type().IsRegular(), parent == "" && f.Name() == hidden:
			continue
		case e.dir:
			e.name += "/"
		}
		if strings.HasPrefix(e.name, prefix) && (e.dir || store.CheckName(e.name) == nil) {
			entries = append(entries, e)
		}
	}
	// A directory sorts by the names in it: "a-b/" comes before "a/".
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, nil
}

// checkContainer is nil if the store's directory exists.
func (s *Store) checkContainer(ctx context.Context) error {
	info, err := os.Stat(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &store.Error{
			Op: "open", Object: s.dir, Class: store.ErrNoContainer, Err: errors.New("no such directory"),
			Hint: "check the path; shipper creates the directory when it stores the first segment",
		}
	case err == nil && !info.IsDir():
		return &store.Error{
			Op: "open", Object: s.dir, Class: store.ErrNoContainer, Err: errors.New("it is a file"),
			Hint: "a store is a directory; logq query --file reads a log file without a store",
		}
	default:
		return s.db.classify(ctx, "open", s.dir, err)
	}
}
