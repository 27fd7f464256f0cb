package output

import (
	"io"
	"slices"
	"strings"
)

// Alignment aligns the cells of a table, which [Visible] made. The zero value has no columns.
type Alignment struct {
	// Right is set for columns that are aligned to the right.
	Right  []bool
	widths []int
}

// Add makes the columns as wide as the cells of a line.
func (a *Alignment) Add(cells []string) {
	for i, cell := range cells {
		if i == len(a.widths) {
			a.widths = append(a.widths, 0)
		}
		a.widths[i] = max(a.widths[i], Columns(cell))
	}
}

// Width is the number of terminal columns of a line.
func (a *Alignment) Width() int {
	n := 2 * max(0, len(a.widths)-1)
	for _, width := range a.widths {
		n += width
	}
	return n
}

// Line returns cells with two blanks between them. The last one is not padded on the right.
func (a *Alignment) Line(cells []string) string {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteString("  ")
		}
		blanks := strings.Repeat(" ", a.widths[i]-Columns(cell))
		switch {
		case i < len(a.Right) && a.Right[i]:
			cell = blanks + cell
		case i < len(a.widths)-1:
			cell += blanks
		}
		line.WriteString(cell)
	}
	return line.String()
}

// Align returns the aligned lines of a table. Columns with one of the headers in right are aligned to the right.
func Align(table [][]string, right ...string) []string {
	var a Alignment
	for _, header := range table[0] {
		a.Right = append(a.Right, slices.Contains(right, header))
	}
	for _, cells := range table {
		a.Add(cells)
	}
	lines := make([]string, len(table))
	for i, cells := range table {
		lines[i] = a.Line(cells)
	}
	return lines
}

// WriteLines writes lines.
func WriteLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}
