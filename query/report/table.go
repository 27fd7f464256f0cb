package report

import (
	"bufio"
	"io"

	"logstow/query/aggregate"
	"logstow/query/output"
)

// table writes aligned columns. It reads the rows twice: first for their widths, then for their text.
type table struct {
	*aggregate.Result
	Options
	// functions has, for each column, the kind of its function.
	functions []aggregate.Kind
	columns   output.Alignment // of keys and values
	most      float64          // greatest value of the first column
	cells     []string
	trends    trends
	times     times
}

func writeTable(w io.Writer, r *aggregate.Result, o Options) error {
	t := &table{Result: r, Options: o, most: 1, times: newTimes(r, o.Zone)}
	names := headers(r)
	for i, name := range names {
		names[i] = output.Visible(name)
		t.columns.Right = append(t.columns.Right, i >= len(r.Keys))
	}
	for _, c := range r.Columns {
		t.functions = append(t.functions, r.Spec.Compute[c.Function].Kind)
	}
	t.columns.Add(names)
	rows := 0
	for row, err := range r.Found() {
		if err != nil {
			return err
		}
		t.columns.Add(t.row(row))
		if len(row.Values) > 0 {
			x, _ := row.Values[0].Number()
			t.most = max(t.most, x)
		}
		rows++
	}
	if rows == 0 {
		return nil
	}
	out := bufio.NewWriter(w)
	length := BarLength(t.Width, t.columns.Width())
	t.print(out, names, "")
	for row, err := range r.Found() {
		if err != nil {
			return err
		}
		bar := ""
		if t.Width > 0 && len(r.Columns) > 0 && r.Pivot < 0 {
			if x, ok := row.Values[0].Number(); ok {
				bar = Bar(x, t.most, length)
			}
			t.trends.add(r, row, t.times)
		}
		t.print(out, t.row(row), bar)
	}
	t.trends.print(out, r.Columns, t.Width)
	return out.Flush()
}

// print writes a line: text to the left, numbers to the right.
func (t *table) print(w *bufio.Writer, cells []string, bar string) {
	line := t.columns.Line(cells)
	if bar != "" {
		line += "  " + bar
	}
	_ = output.WriteLines(w, []string{line}) // Flush returns the error
}

// row are the texts of a row, valid until the next call.
func (t *table) row(row aggregate.Row) []string {
	t.cells = t.cells[:0]
	for _, v := range row.Keys {
		t.cells = append(t.cells, keyText(v, t.times))
	}
	for i, v := range row.Values {
		t.cells = append(t.cells, approximately(v.Approximate)+functionText(v, t.functions[i], t.times))
	}
	return t.cells
}
