package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/query/source"

	"logstow/segment"
	"logstow/store"
)

// SmallBlob is the maximum size of a segment of one block that is read in one request.
const SmallBlob = 256 << 10

// contents is the result of opening a segment.
type contents struct {
	footer *segment.Footer
	// origins has the inputs of an output of compaction; nil for other segments.
	origins *segment.Origins
	// blob is the whole blob if it has been read, otherwise nil.
	blob []byte
}

// footer reads the footer of a segment, and the list of inputs of an output of compaction, from its first intact copy, and
// checks it against the metadata. share is the maximum number of stored bytes kept in memory.
func (f *Fetcher) footer(ctx context.Context, s *source.Segment, share int64) (c contents, err error) {
	if s.Foreign {
		c.footer, err = f.convertForeign(ctx, s)
		return c, err
	}
	var failures []error
	for _, one := range append([]*source.Segment{s}, s.Copies...) {
		c, err = f.footerOf(ctx, one, share)
		if err == nil {
			if len(failures) > 0 {
				f.Recorder.Note("%v; its copy %s is read instead", failures[0], one)
			}
			return c, nil
		}
		if ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
		if f.indexed && f.isStale(ctx, one) {
			f.Recorder.Note("%s: %v", one, errStale)
			err = errStale
		} else if one != s {
			err = fmt.Errorf("copy %s: %w", one, err)
		}
		failures = append(failures, err)
	}
	failures = slices.DeleteFunc(failures, func(err error) bool { return errors.Is(err, errStale) })
	if len(failures) == 0 {
		return c, errStale
	}
	return c, errors.Join(failures...)
}

// footerOf reads the footer of one copy of a segment.
func (f *Fetcher) footerOf(ctx context.Context, s *source.Segment, share int64) (contents, error) {
	c, err := readFooter(ctx, s, share, f.read)
	if segment.IsDamage(err) && ctx.Err() == nil { // the cached bytes, or those of one response, may be damaged
		c, err = readFooter(ctx, s, share, f.readStored)
	}
	return c, err
}

// readFooter reads a segment's footer with from; see [Fetcher.footer].
func readFooter(ctx context.Context, s *source.Segment, share int64, from rangeReader) (c contents, err error) {
	oneBlock := s.Meta.RawBytes <= segment.DefaultBlockSize*5/4
	if s.Size > 0 && s.Size <= SmallBlob && (oneBlock || s.Size <= share) && share > 0 {
		if c.blob, err = from(ctx, s, 0, s.Size); err != nil {
			return contents{}, err
		}
	}
	read := func(ctx context.Context, off, n int64) ([]byte, error) {
		if blob := c.blob; blob != nil {
			if off < 0 || n < 0 || off > s.Size-n {
				return nil, store.ErrRange
			}
			return blob[off : off+n], nil
		}
		return from(ctx, s, off, n)
	}
	if s.Meta.IsOutput() {
		c.footer, c.origins, err = segment.ReadOrigins(ctx, read, s.Size, s.Meta.Origins)
	} else {
		c.footer, err = segment.ReadFooter(ctx, read, s.Size, s.Meta.Footer)
	}
	if err == nil {
		err = c.footer.Check(s.Meta)
	}
	if err == nil && c.footer.Service != s.Name.Service {
		err = &segment.CorruptError{Part: "footer", Offset: c.footer.Footer, Reason: "it is that of service " + c.footer.Service}
	}
	if err != nil {
		return contents{}, err
	}
	return c, nil
}
