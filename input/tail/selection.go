package tail

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// selection decides which files are read: those that a pattern matches and no exclusion skips.
type selection struct {
	patterns []*pattern
	// exclude are globs, skip directories.
	exclude, skip []string
}

func newSelection(paths, exclude, skip []string) (selection, error) {
	s := selection{exclude: slices.Clone(exclude)}
	for _, text := range exclude {
		if !doublestar.ValidatePattern(filepath.ToSlash(text)) {
			return s, fmt.Errorf("%q is not a valid pattern: a bracket or brace is not closed", text)
		}
	}
	for _, dir := range skip {
		full, err := filepath.Abs(dir)
		if err != nil {
			return s, err
		}
		s.skip = append(s.skip, full+string(filepath.Separator))
	}
	for _, text := range paths {
		p, err := parsePattern(text)
		if err != nil {
			return s, err
		}
		s.patterns = append(s.patterns, p)
	}
	return s, nil
}

// find returns the files that a pattern matches now and calls dirs for each directory
// that it read.
func (s *selection) find(p *pattern, dirs func(string)) ([]*candidate, []error) {
	files, errs := p.find(dirs)
	return slices.DeleteFunc(files, func(c *candidate) bool { return s.excludes(p, c.path) }), errs
}

// pattern returns the pattern that matches an absolute path; nil if none does.
func (s *selection) pattern(path string) *pattern {
	for _, p := range s.patterns {
		if p.matches(path) && !s.excludes(p, path) {
			return p
		}
	}
	return nil
}

// matches reports whether a pattern matches an absolute path.
func (s *selection) matches(path string) bool { return s.pattern(path) != nil }

// excludes reports whether p skips a path. Excludes do not apply to a path without wildcards.
func (s *selection) excludes(p *pattern, path string) bool {
	if p.rest == "" {
		return false
	}
	return slices.ContainsFunc(s.skip, func(dir string) bool { return strings.HasPrefix(path, dir) }) ||
		slices.ContainsFunc(s.exclude, func(glob string) bool {
			name := path
			if !strings.ContainsRune(glob, filepath.Separator) {
				name = filepath.Base(path)
			}
			ok, err := doublestar.PathMatch(glob, name)
			return ok && err == nil
		})
}

// firstScan returns the time of the first scan of the patterns that match a file, in Unix nanoseconds;
// the maximum if there was none.
func (s *selection) firstScan(p position) int64 {
	since := int64(math.MaxInt64)
	for _, pattern := range s.patterns {
		if !pattern.matches(p.path) {
			continue
		}
		at := pattern.firstScan
		if at == 0 { // unknown
			at = p.modified
		}
		since = min(since, at)
	}
	return since
}

// isNew reports whether a pattern that matches a path is in its first scan.
func (s *selection) isNew(path string) bool {
	return slices.ContainsFunc(s.patterns, func(p *pattern) bool { return p.isNew && p.matches(path) })
}
