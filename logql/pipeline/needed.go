package pipeline

import (
	"slices"

	"logstow/logql/syntax"
)

// Needed returns the stages of a metric query without the parsers whose labels nothing behind them reads: as in Loki these do not run,
// and their errors do not matter. read reports whether the caller reads labels.
func Needed(stages []syntax.Stage, read bool) []syntax.Stage {
	needed := make([]syntax.Stage, 0, len(stages))
	readsLine := false
	for _, s := range slices.Backward(stages) {
		switch s.(type) {
		case *syntax.JSONParser, *syntax.LogfmtParser, *syntax.RegexpParser, *syntax.PatternParser:
			if !read {
				continue
			}
		case *syntax.UnpackParser:
			if !read && !readsLine {
				continue
			}
		case *syntax.LineFilter:
			readsLine = true
		case *syntax.LabelFilter, *syntax.LineFormat, *syntax.LabelFormat:
			names, all := Reads(s)
			read = read || all || len(names) > 0
		}
		needed = append(needed, s)
	}
	slices.Reverse(needed)
	return needed
}

// Reads returns the labels that a stage reads; all is set if it reads all, or if it cannot be compiled.
func Reads(s syntax.Stage) (names []string, all bool) {
	compiled, err := compileStage(s)
	return compiled.names, compiled.all || err != nil
}
