package segment

import (
	"bytes"
	"context"
	"fmt"

	"logstow/columns"
	"logstow/exact"
	"logstow/field"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
)

// columnVerifier checks that columns have the values of the text.
type columnVerifier struct {
	list     *Columns
	page     func(p *ColumnPage) ([]byte, error)
	splitter *parse.Splitter // nil if the parser is unknown
	index    []int           // for each column, its index in the splitter's values
	// block has the page of each column in the current block, nil if there is none; runs are the seconds of the block,
	// nil if there is no column of times.
	block []*columns.Page
	runs  []columns.Run
	// split is set if the fields of the block's messages are needed: a field has a page, or the messages have a form.
	split bool
	// names are those of the attributes in the block, inMessage has true for each column of which a message has a value.
	names     columns.AttributeNames
	inMessage []bool
	message   record.Message
	scratch   []byte
}

// maxPages is the maximum length in bytes at which all pages are read at once. They are stored by column but verified by
// block.
const maxPages = 16 << 20

// newColumnVerifier returns nil for a segment without columns.
func newColumnVerifier(ctx context.Context, read Range, f *Footer) (*columnVerifier, error) {
	list, err := ReadColumns(ctx, read, f)
	if list == nil || err != nil {
		return nil, err
	}
	v := &columnVerifier{list: list, page: func(p *ColumnPage) ([]byte, error) { return readRange(ctx, read, p.Offset, p.Length) }}
	at := f.columnsStart()
	if n := f.Columns - at; n > 0 && n <= maxPages {
		pages, err := readRange(ctx, read, at, n)
		if err != nil {
			return nil, fmt.Errorf("read columns of segment: %w", err)
		}
		v.page = func(p *ColumnPage) ([]byte, error) { return pages[p.Offset-at:][:p.Length], nil }
	}
	var names []string
	for _, c := range list.Columns {
		v.index = append(v.index, len(names))
		if c.Name.Fixed == "" {
			names = append(names, c.Name.Field)
		}
	}
	if p, err := parse.CompileStored(f.Parse); err == nil {
		v.splitter = p.Splitter(names...)
		v.splitter.CheckForm()
	}
	return v, nil
}

// startBlock reads the pages of a block.
func (v *columnVerifier) startBlock(b Block) error {
	v.block, v.runs = make([]*columns.Page, len(v.list.Columns)), nil
	v.inMessage = make([]bool, len(v.list.Columns))
	v.names.Reset()
	v.split = v.splitter != nil && v.list.Forms[b.Index] != message.NoForm
	for i := range v.list.Columns {
		c := &v.list.Columns[i]
		p := &c.Pages[b.Index]
		if p.Length == 0 {
			continue
		}
		stored, err := v.page(p)
		if err != nil {
			return err
		}
		if err := p.Check(stored); err != nil {
			return err
		}
		v.split = v.split || v.splitter != nil && c.Name.Fixed == ""
		var least, greatest string
		if c.Name.Fixed == field.Time {
			v.runs, err = columns.DecodeSeconds(stored, int(b.Records))
		} else if v.block[i], err = columns.DecodePage(stored, int(b.Records)); err == nil {
			least, greatest = v.block[i].Bounds()
		}
		if err != nil {
			return corruptColumns(p.Offset, "page of block %d, column %s: %v", b.Index, c.Name, err)
		}
		if !sameNumber(least, p.Least) || !sameNumber(greatest, p.Greatest) {
			return corruptColumns(p.Offset, "page of block %d, column %s: its numbers are from %q to %q, the directory has %q to %q",
				b.Index, c.Name, least, greatest, p.Least, p.Greatest)
		}
	}
	return nil
}

// sameNumber reports whether two texts are the same number, or both empty.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := exact.Parse([]byte(a))
	y, also := exact.Parse([]byte(b))
	return ok && also && x.Compare(y) == 0
}

// add checks record n of a block.
func (v *columnVerifier) add(line record.Line, n uint64, b Block) error {
	if n >= b.Records {
		return nil // the caller reports the excess record
	}
	for len(v.runs) > 0 && n >= uint64(v.runs[0].End) {
		v.runs = v.runs[1:]
	}
	if len(v.runs) > 0 && v.runs[0].Tick != columns.TickOf(line.Time, columns.FloorSecond(b.Start)) {
		return corruptColumns(b.Offset, "record %d of block %d is not of the second that its column has", n, b.Index)
	}
	var values []message.Value
	v.names.Add(line.Attributes)
	if v.split {
		v.message.Decode(line.Raw)
		v.splitter.Split(line.Attributes, v.message)
		values = v.splitter.Values()
		if form := v.list.Forms[b.Index]; form != message.NoForm && v.splitter.Form() != form {
			return corruptColumns(b.Offset, "record %d of block %d does not have the form %d that the directory has", n, b.Index, form)
		}
	}
	for i, p := range v.block {
		if p == nil {
			continue
		}
		var want message.Value
		switch name := v.list.Columns[i].Name; {
		case name.Fixed == field.Level:
			want = columns.LevelValue(line.Level)
		case name.Fixed == field.Source:
			want = message.Value{Kind: message.String, Text: line.Source}
		case v.splitter == nil:
			continue
		default:
			want = values[v.index[i]]
			v.inMessage[i] = v.inMessage[i] || want.Kind != message.Missing && !v.splitter.IsAttribute(v.index[i])
		}
		var got message.Value
		got, v.scratch = p.Value(int(n), v.scratch[:0])
		if got.Kind != want.Kind || !bytes.Equal(got.Text, want.Text) {
			return corruptColumns(v.list.Columns[i].Pages[b.Index].Offset, "column %s has another value than record %d of block %d",
				v.list.Columns[i].Name, n, b.Index)
		}
	}
	if n+1 == b.Records {
		return v.endBlock(b)
	}
	return nil
}

// endBlock checks which columns say that they have attributes only.
func (v *columnVerifier) endBlock(b Block) error {
	for i := range v.list.Columns {
		c := &v.list.Columns[i]
		if p := &c.Pages[b.Index]; p.Attributes &&
			(v.block[i] == nil || v.inMessage[i] || c.Name.Field == "" || !v.names.Only(c.Name.Field)) {
			return corruptColumns(p.Offset, "page of block %d, column %s: its values are not those of attributes only", b.Index, c.Name)
		}
	}
	return nil
}
