package report

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"

	"logstow/internal/jsonlines"
	"logstow/query/aggregate"
)

// cell formats a value for CSV.
func cell(v aggregate.Value, times times) string {
	if v.Kind == aggregate.Time {
		return times.text(v)
	}
	return string(v.Append(nil))
}

// headers are the headers of keys and columns.
func headers(r *aggregate.Result) (all []string) {
	for _, k := range r.Keys {
		all = append(all, k.Header)
	}
	for _, c := range r.Columns {
		all = append(all, c.Header)
	}
	return all
}

func writeCSV(w io.Writer, r *aggregate.Result, times times) error {
	out := csv.NewWriter(w)
	line := headers(r)
	for i, c := range r.Columns {
		line[len(r.Keys)+i] = approximately(r.Approximate[c.Function]) + c.Header
	}
	_ = out.Write(line) // Error returns it
	for row, err := range r.Found() {
		if err != nil {
			return err
		}
		line = line[:0]
		for _, v := range slices.Concat(row.Keys, row.Values) {
			line = append(line, cell(v, times))
		}
		_ = out.Write(line)
	}
	out.Flush()
	return out.Error()
}

func writeJSON(w io.Writer, r *aggregate.Result, times times) error {
	out := bufio.NewWriter(w)
	var names [][]byte
	for _, name := range headers(r) {
		names = append(names, jsonlines.AppendString(nil, []byte(name)))
	}
	var line []byte
	for row, err := range r.Found() {
		if err != nil {
			return err
		}
		line = line[:0]
		var rough [][]byte
		for i, v := range slices.Concat(row.Keys, row.Values) {
			line = appendJSON(append(append(append(line, ','), names[i]...), ':'), v, times)
			if v.Approximate {
				rough = append(rough, names[i])
			}
		}
		if len(rough) > 0 {
			line = fmt.Appendf(line, `,"approximate":[%s]`, bytes.Join(rough, []byte(",")))
		}
		line[0] = '{'
		if _, err := out.Write(append(line, "}\n"...)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func appendJSON(dst []byte, v aggregate.Value, times times) []byte {
	switch v.Kind {
	case aggregate.Missing:
		return append(dst, "null"...)
	case aggregate.Text, aggregate.Time:
		return jsonlines.AppendString(dst, []byte(cell(v, times)))
	}
	return v.Append(dst)
}
