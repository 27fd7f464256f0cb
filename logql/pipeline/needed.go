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
			compiled, err := compileStage(s)
			read = read || err != nil || compiled.all || len(compiled.names) > 0
		}
		needed = append(needed, s)
	}
	slices.Reverse(needed)
	return needed
}
