package plan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
	"unique"

	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/store"
	"logstow/tableindex"
)

// ErrForeign is the cause of a problem with a blob that a version of Logstow wrote and this one cannot read.
var ErrForeign = errors.New("not a segment that this program reads; its records are missing here")

// fullPage is the usual number of blobs in a full page of a listing.
const fullPage = 5000

// list adds the segments under a prefix. If there is more than one page of them, and the prefix is not that of an hour, it adds none
// and returns narrower prefixes, which the caller can list in parallel.
func (p *Planner) list(ctx context.Context, l *listing, prefix string) (narrower []string, err error) {
	if l.down.Load() {
		return nil, nil
	}
	if !l.store.Free { // listing a directory in parallel gains nothing
		narrower = blobnaming.Narrower(prefix)
	}
	many := false
	var h listResult
	from, to := p.listingRange(l.store)
	watch := newPageWatch(l.service, prefix, from, to)
	whole := watch
	err = source.Pages(ctx, func() iter.Seq2[[]store.Blob, error] {
		h, watch = listResult{}, whole
		return func(yield func([]store.Blob, error) bool) {
			for page, err := range l.store.Blobs.List(ctx, prefix) {
				if many = watch.pages == 0 && len(page) >= fullPage && len(narrower) > 0; many || !yield(page, err) {
					return
				}
			}
		}
	}, func(page []store.Blob) {
		watch.page(page)
		for i := range page {
			p.blob(&h, l.store, &page[i])
		}
	})
	if many && err == nil {
		return narrower, nil
	}
	if err == nil {
		err = p.relistOutputs(ctx, l, &h, watch.relistPrefixes(l.service, prefix))
	}
	h.dropRejected()
	if h.otherBlobs > 0 {
		p.Recorder.Note("%s: %d blobs are not named as segments and not read, for example %q", prefix, h.otherBlobs, h.otherBlob)
	}
	return nil, p.addResult(ctx, l, &h, err)
}

// relistOutputs lists prefixes again, and adds the outputs of compaction that the first listing missed. It bypasses listing caches,
// because its listings must start after the first one has ended.
func (p *Planner) relistOutputs(ctx context.Context, l *listing, h *listResult, prefixes []string) error {
	ctx = store.WithFreshListings(ctx)
	for _, prefix := range prefixes {
		err := source.Pages(ctx, func() iter.Seq2[[]store.Blob, error] { return l.store.Blobs.List(ctx, prefix) }, func(page []store.Blob) {
			for i := range page {
				if isOutput(page[i].Name) && !h.outputs[page[i].Name] {
					p.blob(h, l.store, &page[i])
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isOutput reports whether a name is that of an output of compaction, or of the rejection of one.
func isOutput(blob string) bool {
	if _, err := blobnaming.ParseRejection(blob); err == nil {
		return true
	}
	name, err := blobnaming.Parse(blob)
	return err == nil && name.Output() > 0
}

// index adds the segments of a service that are in the index.
func (p *Planner) index(ctx context.Context, l *listing) error {
	var h listResult
	err := source.Retry(ctx, func() error {
		h = listResult{}
		for rows, err := range tableindex.Range(ctx, l.store.Tables, l.store.Container, l.service, p.Matcher.Selection.From, p.Matcher.Selection.To) {
			var malformed *tableindex.EntityError
			switch {
			case errors.As(err, &malformed):
				h.problems = append(h.problems, &source.Problem{Store: l.store.Name, Object: l.store.Name + ": " + l.service, Err: err})
			case err != nil:
				return err
			}
			h.listed += int64(len(rows))
			for i := range rows {
				p.add(&h, l.store, rows[i].Name, rows[i].Meta, rows[i].Size, "", time.Time{})
			}
		}
		return nil
	})
	return p.addResult(ctx, l, &h, err)
}

// addResult adds the result of a listing that ended with err, which may be nil.
func (p *Planner) addResult(ctx context.Context, l *listing, h *listResult, err error) error {
	p.Recorder.Prefixes.Add(1)
	p.Recorder.SegmentsListed.Add(h.listed)
	p.Recorder.SegmentsPruned.Add(h.pruned)
	h.findings.Some = h.listed > 0
	p.Findings.AddListed(l.service, &h.findings)
	for _, problem := range h.problems {
		p.Recorder.Problem(problem)
	}
	l.found.mu.Lock()
	l.found.all = append(l.found.all, h.segments...)
	l.found.latest = latest(l.found.latest, h.latest)
	l.found.mu.Unlock()
	if err != nil {
		return l.fail(ctx, err)
	}
	return nil
}

// blob adds a listed blob.
func (p *Planner) blob(h *listResult, s *source.Store, b *store.Blob) {
	h.listed++
	if isOutput(b.Name) {
		h.addOutput(b.Name)
	}
	if of, err := blobnaming.ParseRejection(b.Name); err == nil {
		h.reject(of)
		return
	}
	name, err := parseName(b.Name)
	if err != nil {
		if h.otherBlobs++; h.otherBlobs == 1 {
			h.otherBlob = b.Name
		}
		return
	}
	if !name.Overlaps(p.listingRange(s)) {
		h.pruned++
		return
	}
	h.latest = latest(h.latest, b.Created)
	if p.Since != nil && (name.Output() > 0 || b.Created.Before(*p.Since)) {
		return
	}
	if isForeign(b.Metadata) {
		p.foreign(h, s, name, b)
		return
	}
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	if err != nil {
		h.problems = append(h.problems, &source.Problem{Store: s.Name, Object: b.Name, Err: fmt.Errorf("%w: %w", ErrForeign, err)})
		return
	}
	p.add(h, s, name, meta, b.Size, b.Tier, b.Created)
}

// add adds a segment, unless its metadata exclude matches.
func (p *Planner) add(h *listResult, s *source.Store, name blobnaming.Name, meta blobnaming.Metadata, size int64, tier store.Tier, created time.Time) {
	if !name.Contains(meta.Start, meta.End) {
		h.problems = append(h.problems, &source.Problem{Store: s.Name, Object: name.String(), Err: fmt.Errorf("%w: the times in its metadata are not in the hour of its name; was it renamed?", ErrForeign)})
		return
	}
	if p.Matcher.InRange(meta.Start, meta.End) {
		h.findings.Segments++
		h.findings.Outputs = h.findings.Outputs || meta.IsOutput()
		for l, n := range meta.Levels {
			h.findings.Levels[l] += n
		}
		if !meta.IsOutput() {
			h.findings.AddOrigin(name.Service, meta.Instance)
		}
	}
	if !p.Matcher.MayMatch(meta.Start, meta.End, meta.Levels) || !meta.IsOutput() && !p.Matcher.MayMatchOrigin(name.Service, meta.Instance) {
		h.pruned++
		return
	}
	// Many segments share these strings, and they must not retain the page of a listing.
	name.Service, meta.Instance = unique.Make(name.Service).Value(), unique.Make(meta.Instance).Value()
	h.segments = append(h.segments, &source.Segment{Store: s.Name, Name: name, Meta: meta, Size: size, Tier: tier, Created: created, Blobs: source.InTier(s.Blobs, tier), Cache: s.Cache})
}
