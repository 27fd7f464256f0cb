package report

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"

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

func writeCSV(w io.Writer, r *aggregate.Result, times times) error {
	out := csv.NewWriter(w)
	line := make([]string, 0, len(r.Keys)+len(r.Columns))
	for _, k := range r.Keys {
		line = append(line, k.Header)
	}
	for _, c := range r.Columns {
		line = append(line, approximately(r.Approximate[c.Function])+c.Header)
	}
	_ = out.Write(line) // Error returns it
	for row, err := range r.Found() {
		if err != nil {
			return err
		}
		line = line[:0]
		for _, v := range row.Keys {
			line = append(line, cell(v, times))
		}
		for _, v := range row.Values {
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
	for _, k := range r.Keys {
		names = append(names, jsonlines.AppendString(nil, []byte(k.Header)))
	}
	for _, c := range r.Columns {
		names = append(names, jsonlines.AppendString(nil, []byte(c.Header)))
	}
	var line []byte
	for row, err := range r.Found() {
		if err != nil {
			return err
		}
		line = line[:0]
		var rough [][]byte
		for i, values := 0, [2][]aggregate.Value{row.Keys, row.Values}; i < len(names); i++ {
			v := values[0]
			at := i
			if i >= len(row.Keys) {
				v, at = values[1], i-len(row.Keys)
			}
			line = appendJSON(append(append(append(line, ','), names[i]...), ':'), v[at], times)
			if v[at].Approximate {
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
