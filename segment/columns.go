package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/columns"
	"logstow/field"
	"logstow/message"
)

// columnsSection is the name of the section of columns.
const columnsSection = "columns"

// MaxDirectory is the maximum length of the directory of columns in bytes.
const MaxDirectory = 8 << 20

// Columns is the directory of columns: the columns of a segment and the places of their pages.
type Columns struct {
	Columns []Column
	// Forms has the form of the messages of each block: see [columns.Builder.Forms].
	Forms []message.Form
}

// Column is a column of a segment: the values of one field.
type Column struct {
	Name columns.Name
	// Pages has the place of a page for each block.
	Pages []ColumnPage
}

// ColumnPage is the place of a page in the blob, in bytes, and its hash. Its Length is 0 if the block has no page, so
// that its text must be read.
type ColumnPage struct {
	Offset, Length int64
	Hash           Hash
	// Least and Greatest are the least and the greatest number in the page as written; empty if it has no numbers.
	Least, Greatest string
	// Attributes is as in [columns.Column].
	Attributes bool
}

// Find returns the column with a name, or nil.
func (c *Columns) Find(name columns.Name) *Column {
	if name.Label != "" {
		return c.labelled(name.Label)
	}
	for i := range c.Columns {
		if c.Columns[i].Name == name {
			return &c.Columns[i]
		}
	}
	return nil
}

// labelled returns the only column with a label, or nil if there are none or several.
func (c *Columns) labelled(label string) (found *Column) {
	for i := range c.Columns {
		if name := c.Columns[i].Name; name.Fixed == "" && message.LabelName(name.Field, true) == label {
			if found != nil {
				return nil
			}
			found = &c.Columns[i]
		}
	}
	return found
}

// ReadColumns reads the directory of columns of a segment with footer f, with one call of read. It is nil if the segment
// has no columns. Damage is a [*CorruptError].
func ReadColumns(ctx context.Context, read Range, f *Footer) (*Columns, error) {
	if f.Columns == 0 {
		return nil, nil
	}
	stored, err := readRange(ctx, read, f.Columns, f.ColumnsLength)
	if err != nil {
		return nil, fmt.Errorf("read directory of columns: %w", err)
	}
	return f.ParseColumns(stored)
}

// ParseColumns checks and decodes the stored directory, the bytes at f.Columns. The segment must have columns. Damage is
// a [*CorruptError].
func (f *Footer) ParseColumns(stored []byte) (*Columns, error) {
	if got := HashOf(stored); got != f.ColumnsHash {
		return nil, corruptColumns(f.Columns, "hash of the directory is %s, %s expected", got, f.ColumnsHash)
	}
	c, err := decodeColumns(stored, f)
	if err != nil {
		return nil, corruptColumns(f.Columns, "%v", err)
	}
	return c, nil
}

// Check checks the stored bytes of the page. Damage is a [*CorruptError].
func (p *ColumnPage) Check(stored []byte) error {
	if int64(len(stored)) != p.Length {
		return corruptColumns(p.Offset, "page of %d bytes, %d expected", len(stored), p.Length)
	}
	if got := HashOf(stored); got != p.Hash {
		return corruptColumns(p.Offset, "hash of a page is %s, %s expected", got, p.Hash)
	}
	return nil
}

func corruptColumns(at int64, format string, args ...any) error {
	return &CorruptError{Part: "section " + columnsSection, Offset: at, Reason: fmt.Sprintf(format, args...)}
}

// The keys of the directory, besides some of the footer's.
const (
	keyFixed    = "Fixed"
	keyGreatest = "Greatest"
	keyLeast    = "Least"
	keyMembers  = "Members"
)

// fixedColumns are the fixed fields that may be columns, by their number in Fixed, from 1 on.
func fixedColumns() []field.Fixed { return []field.Fixed{field.Level, field.Source, field.Time} }

// encodeColumns encodes the section of columns as a frame and adds it to f. It is nil if the directory is too long. forms
// are those of [Columns].
func encodeColumns(all []columns.Column, forms []message.Form, f *Footer) ([]byte, error) {
	frame := newFrame()
	var fixed, lengths []uint64
	var hashes []byte
	var names, least, greatest []string
	attributes, some := []uint64{}, false
	for _, c := range all {
		fixed = append(fixed, uint64(slices.Index(fixedColumns(), c.Name.Fixed)+1))
		names = append(names, c.Name.Field)
		least, greatest = append(least, c.Least...), append(greatest, c.Greatest...)
		for _, page := range c.Pages {
			frame = append(frame, page...)
			if len(page) > 0 {
				hash := HashOf(page)
				hashes = append(hashes, hash[:]...)
			}
			lengths = append(lengths, uint64(len(page)))
		}
		for _, only := range c.Attributes {
			n := uint64(0)
			if only {
				n, some = 1, true
			}
			attributes = append(attributes, n)
		}
	}
	m := newFields()
	if some {
		m.add(keyAttributes, attributes)
	}
	m.add(keyFixed, fixed)
	m.add(keyGreatest, greatest)
	m.add(keyHash, hashes)
	m.add(keyLeast, least)
	m.add(keyLength, lengths)
	m.add(keyMembers, formNumbers(forms))
	m.add(keyName, names)
	directory, err := m.bytes()
	if err != nil {
		return nil, err
	}
	if len(directory) > MaxDirectory {
		return nil, nil
	}
	f.Columns, f.ColumnsLength, f.ColumnsHash = f.Footer+int64(len(frame)), int64(len(directory)), HashOf(directory)
	frame = append(frame, directory...)
	f.addSection(columnsSection, frame)
	return frame, nil
}

func formNumbers(forms []message.Form) []uint64 {
	numbers := make([]uint64, len(forms))
	for i, form := range forms {
		numbers[i] = uint64(form)
	}
	return numbers
}

// decodeColumns decodes the directory that encodeColumns wrote into a segment with footer f.
func decodeColumns(directory []byte, f *Footer) (*Columns, error) {
	r := readFields(directory)
	fixed := r.column(keyFixed, columns.MaxColumns)
	n := len(fixed)
	pages := n * len(f.Blocks)
	names := r.texts(keyName, columns.MaxColumns, columns.MaxName)
	lengths := r.exactly(keyLength, pages)
	missing := 0
	for _, n := range lengths {
		if n == 0 {
			missing++
		}
	}
	hashes := r.hashes(keyHash, pages-missing)
	members := r.exactly(keyMembers, len(f.Blocks))
	least := r.texts(keyLeast, pages, columns.MaxNumber)
	greatest := r.texts(keyGreatest, pages, columns.MaxNumber)
	attributes := make([]uint64, pages)
	if r.has(keyAttributes) {
		attributes = r.exactly(keyAttributes, pages)
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case len(names) != n || len(least) != pages || len(greatest) != pages:
		return nil, errors.New("its lists are not of the same length")
	}
	c := &Columns{Columns: make([]Column, n), Forms: make([]message.Form, len(f.Blocks))}
	for i, m := range members {
		if m <= uint64(message.PairsForm) { // later versions may write others
			c.Forms[i] = message.Form(m)
		}
	}
	at := f.columnsStart()
	for i := range c.Columns {
		col := &c.Columns[i]
		switch {
		case fixed[i] == 0:
			col.Name.Field = names[i]
		case fixed[i] <= uint64(len(fixedColumns())) && names[i] == "":
			col.Name.Fixed = fixedColumns()[fixed[i]-1]
		default:
			return nil, fmt.Errorf("column %d has no name", i)
		}
		if c.Find(col.Name) != col {
			return nil, fmt.Errorf("column %s occurs twice", col.Name)
		}
		col.Pages = make([]ColumnPage, len(f.Blocks))
		for j := range col.Pages {
			k := i*len(f.Blocks) + j
			if lengths[k] > maxSection {
				return nil, fmt.Errorf("number out of range in page %d of column %s", j, col.Name)
			}
			col.Pages[j] = ColumnPage{
				Offset:     at,
				Length:     int64(lengths[k]),
				Least:      least[k],
				Greatest:   greatest[k],
				Attributes: attributes[k] == 1,
			}
			if lengths[k] > 0 {
				col.Pages[j].Hash, hashes = hashes[0], hashes[1:]
			}
			at += col.Pages[j].Length
			if at > f.Columns {
				return nil, fmt.Errorf("page %d of column %s is outside the section", j, col.Name)
			}
		}
	}
	if at != f.Columns {
		return nil, fmt.Errorf("the pages end at %d, the directory is at %d", at, f.Columns)
	}
	return c, nil
}

// columnsStart is the offset of the first page.
func (f *Footer) columnsStart() int64 {
	i := slices.IndexFunc(f.Sections, func(s Section) bool { return s.Name == columnsSection })
	return f.Sections[i].Offset + frameHeader
}

// validateColumns checks a footer's description of its columns.
func (f *Footer) validateColumns() error {
	i := slices.IndexFunc(f.Sections, func(s Section) bool { return s.Name == columnsSection })
	if f.Columns == 0 {
		if i >= 0 || f.ColumnsLength != 0 || f.ColumnsHash != (Hash{}) {
			return errors.New("columns without their place")
		}
		return nil
	}
	switch {
	case i < 0:
		return errors.New("no section of columns")
	case f.ColumnsLength <= 0 || f.ColumnsLength > MaxDirectory:
		return fmt.Errorf("directory of columns of %d bytes, at most %d allowed", f.ColumnsLength, MaxDirectory)
	case f.Columns < f.columnsStart() || f.Columns+f.ColumnsLength != f.Sections[i].Offset+f.Sections[i].Length:
		return fmt.Errorf("directory of columns at %d is not the end of its section", f.Columns)
	}
	return nil
}
