package tail

import "context"

// carry makes a new file continue the lines that the file at its path before holds, if that was read to its end: it was
// rotated in a record of several lines or parts.
func (t *tracker) carry(ctx context.Context, f *file) error {
	if f.lines.Offset() > 0 || f.kind != plain || f.pipe || len(f.formers) > 0 {
		return nil
	}
	former := t.formerOf(f)
	if former == nil || former.service != f.service {
		return nil
	}
	if e, err := former.stat(); err != nil || e.size != former.lines.Offset() || !f.lines.Continue(former.lines) {
		return nil //nolint:nilerr // a file that is gone is not continued
	}
	f.formers = append(former.leaveFormers(), former)
	for _, g := range f.formers {
		g.continuedBy = f
	}
	t.storeFile(f) // the next run knows the path, also if it is rotated before anything is stored
	return t.flush(ctx)
}

// formerOf returns the last file that was at the path of a file before, if it holds lines.
func (t *tracker) formerOf(f *file) *file {
	var last *file
	for _, g := range t.files {
		if g != f && g.kind == plain && g.displaced() && g.resolvedPath() == f.resolvedPath() && compareFiles(g, f) < 0 &&
			(last == nil || compareFiles(last, g) < 0) {
			last = g
		}
	}
	if last == nil || last.continuedBy != nil || !last.lines.Waiting() {
		return nil
	}
	return last
}

// settle stores the lines of a file that another one continues, so that it can be read further or be ended.
func (t *tracker) settle(ctx context.Context, f *file) error {
	if f.continuedBy == nil {
		return nil
	}
	g := f.continuedBy
	return t.feed.EndCarried(ctx, g.lines, g.reference(t.opts.Now()))
}

// mayContinue reports whether a file was rotated just now, and the file at its path was not read yet.
func (t *tracker) mayContinue(f *file) bool {
	if !f.displaced() || f.kind != plain || t.opts.Now().Sub(f.lastRead) >= t.opts.RotateWait {
		return false
	}
	g := t.byPath[f.path]
	return g == nil || g == f || g.lines.Offset() == 0
}
