package store

import (
	"context"
	"io"
	"iter"
	"strings"
)

// Prefixed returns the part of a container whose names begin with prefix, without it: a table of others, for example. prefix ends in '/',
// or is "" for the whole container. Safe for concurrent use.
func Prefixed(b Blobs, prefix string) Blobs {
	if prefix == "" {
		return b
	}
	return prefixed{b, prefix}
}

type prefixed struct {
	blobs  Blobs
	prefix string
}

func (p prefixed) Read(ctx context.Context, ref BlobRef, off, n int64) ([]byte, error) {
	ref.Name = p.prefix + ref.Name
	return p.blobs.Read(ctx, ref, off, n)
}

func (p prefixed) List(ctx context.Context, prefix string) iter.Seq2[[]Blob, error] {
	return func(yield func([]Blob, error) bool) {
		for page, err := range p.blobs.List(ctx, p.prefix+prefix) {
			for i := range page {
				page[i].Name = strings.TrimPrefix(page[i].Name, p.prefix)
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

func (p prefixed) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for page, err := range p.blobs.ListPrefixes(ctx, p.prefix+prefix) {
			for i := range page {
				page[i] = strings.TrimPrefix(page[i], p.prefix)
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

func (p prefixed) Create(ctx context.Context, name string, body []byte, opts CreateOptions) (string, error) {
	if name == "" {
		return "", &Error{Op: "create", Object: "blob " + p.prefix, Class: ErrInvalid, Err: CheckName(name)}
	}
	return p.blobs.Create(ctx, p.prefix+name, body, opts)
}

// CreateFrom implements [Streamer].
func (p prefixed) CreateFrom(ctx context.Context, name string, body io.ReaderAt, size int64, opts CreateOptions) (string, error) {
	if name == "" {
		return "", &Error{Op: "create", Object: "blob " + p.prefix, Class: ErrInvalid, Err: CheckName(name)}
	}
	return CreateFrom(ctx, p.blobs, p.prefix+name, body, size, opts)
}

func (p prefixed) Delete(ctx context.Context, refs []BlobRef) error {
	all := make([]BlobRef, len(refs))
	for i, ref := range refs {
		all[i] = BlobRef{p.prefix + ref.Name, ref.ETag}
	}
	return p.blobs.Delete(ctx, all)
}

func (p prefixed) RemoveDirectories(ctx context.Context, prefix, before string) error {
	return p.blobs.RemoveDirectories(ctx, p.prefix+prefix, p.prefix+before)
}

func (p prefixed) SetTier(ctx context.Context, names []string, tier Tier) error {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = p.prefix + name
	}
	return p.blobs.SetTier(ctx, all, tier)
}
