package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"logstow/catalog"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

const (
	// readAhead is the stored size of the blocks that are read in one request, unless one block is larger.
	readAhead = 1 << 20
	// maxPages is the maximum size of the pages of origins that are read in one request.
	maxPages = 8 << 20
)

// unitError is the error of an output that cannot be exported: it is damaged, or gone.
type unitError struct {
	unit catalog.Segment
	err  error
}

func (e *unitError) Error() string { return fmt.Sprintf("%s: %v", e.unit.Name, e.err) }
func (e *unitError) Unwrap() error { return e.err }

// reader reads the records of an output in their order.
type reader struct {
	unit    catalog.Segment
	read    segment.Range
	decoder *segment.Decoder
	footer  *segment.Footer
	origins *segment.Origins
	// instances are those of the parts of the inputs.
	instances [][]byte
	// pages are the stored pages of origins from an offset, nil if they are read one by one.
	pages    []byte
	pagesAt  int64
	splitter *parse.Splitter // nil if no fields are needed
	message  record.Message

	block   int    // the next one
	stored  []byte // of the next blocks
	storeAt int64
	text    []byte // of the block
	rest    []byte
	ids     *segment.BlockOrigins
	index   int // of the next record in the block

	// line, instance and values are those of the current record.
	line     record.Line
	instance []byte
	values   []message.Value
}

// fail returns the error of reading an output.
func (u *reader) fail(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrRange), errors.Is(err, store.ErrInvalid),
		errors.Is(err, segment.ErrUnsupported), segment.IsDamage(err):
		return &unitError{u.unit, err}
	}
	return fmt.Errorf("cannot read %s: %w", u.unit.Name, err)
}

// openUnit reads the footer and the origins of an output, and its first record. fields are those with columns.
func openUnit(ctx context.Context, read segment.Range, unit catalog.Segment, decoder *segment.Decoder, fields []string, text []byte) (*reader, error) {
	u := &reader{unit: unit, read: read, decoder: decoder, text: text[:0], values: make([]message.Value, len(fields))}
	var err error
	if u.footer, u.origins, err = unit.ReadOrigins(ctx, read); err != nil {
		return nil, u.fail(err)
	}
	for _, p := range u.origins.Parts {
		u.instances = append(u.instances, []byte(p.Instance))
	}
	if len(fields) > 0 {
		if parser, err := parse.CompileStored(unit.Meta.Parse); err == nil { // fields of a newer parser are null
			u.splitter = parser.Splitter(fields...)
		}
	}
	if err := u.readPages(ctx); err != nil {
		return nil, u.fail(err)
	}
	return u, nil
}

// readPages reads the pages of origins, unless they are large or not close together.
func (u *reader) readPages(ctx context.Context) (err error) {
	if len(u.origins.Pages) == 0 {
		return nil
	}
	from, to := u.origins.Pages[0].Offset, int64(0)
	for _, p := range u.origins.Pages {
		from, to = min(from, p.Offset), max(to, p.Offset+p.Length)
	}
	if to-from > maxPages || to <= from {
		return nil
	}
	u.pagesAt = from
	u.pages, err = u.read(ctx, from, to-from)
	return err
}

// next advances to the next record, in the memory of earlier ones; it is not ok behind the last one.
func (u *reader) next(ctx context.Context) (ok bool, err error) {
	if len(u.rest) == 0 {
		if u.block == len(u.footer.Blocks) {
			return false, nil
		}
		if err := u.nextBlock(ctx); err != nil {
			return false, u.fail(err)
		}
	}
	b := &u.footer.Blocks[u.block-1]
	if u.line, u.rest, err = record.Next(u.rest); err != nil {
		return false, u.fail(b.Corrupt("%v", err))
	}
	if u.index >= len(u.ids.IDs) || (len(u.rest) == 0) != (u.index == len(u.ids.IDs)-1) {
		return false, u.fail(b.Corrupt("it has other records than the footer says"))
	}
	u.instance = u.instances[u.ids.Part(u.index)]
	u.index++
	if u.splitter != nil {
		u.split()
	}
	return true, nil
}

// split sets the values of the fields with columns.
func (u *reader) split() {
	raw := u.line.Raw
	if bytes.IndexByte(raw, '\n') >= 0 {
		u.message.Decode(raw)
		raw = u.message
	}
	u.splitter.Split(u.line.Attributes, raw)
	copy(u.values, u.splitter.Values())
}

// nextBlock decodes the next block.
func (u *reader) nextBlock(ctx context.Context) error {
	b := u.footer.Blocks[u.block]
	err := segment.ReadTwice(ctx, func() error {
		stored, err := u.storedBlock(ctx, b)
		if err != nil {
			return err
		}
		if u.text, err = u.decoder.DecodeBlock(u.text[:0], stored, b); err != nil {
			u.stored = nil // to read it again
		}
		return err
	})
	if err != nil {
		return err
	}
	page := u.origins.Pages[u.block]
	err = segment.ReadTwice(ctx, func() error {
		stored, err := u.storedPage(ctx, page)
		if err == nil {
			u.ids, err = u.origins.DecodePage(stored, b)
		}
		if err != nil {
			u.pages = nil
		}
		return err
	})
	u.rest, u.index = u.text, 0
	u.block++
	return err
}

// storedBlock returns the stored bytes of a block. It reads those of the following blocks with it.
func (u *reader) storedBlock(ctx context.Context, b segment.Block) ([]byte, error) {
	if b.Offset < u.storeAt || b.Offset+b.Stored > u.storeAt+int64(len(u.stored)) {
		n := b.Stored
		for _, next := range u.footer.Blocks[b.Index+1:] {
			if next.Offset != b.Offset+n || n+next.Stored > readAhead {
				break
			}
			n += next.Stored
		}
		u.stored = nil // not two of them at the same time
		stored, err := u.read(ctx, b.Offset, n)
		if err != nil {
			return nil, err
		}
		u.stored, u.storeAt = stored, b.Offset
	}
	at := b.Offset - u.storeAt
	return u.stored[at : at+b.Stored], nil
}

// storedPage returns the stored bytes of a page of origins.
func (u *reader) storedPage(ctx context.Context, p segment.OriginPage) ([]byte, error) {
	if at := p.Offset - u.pagesAt; u.pages != nil && at >= 0 && at+p.Length <= int64(len(u.pages)) {
		return u.pages[at : at+p.Length], nil
	}
	return u.read(ctx, p.Offset, p.Length)
}
