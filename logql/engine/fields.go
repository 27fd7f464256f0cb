package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/columns"
	"logstow/field"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/message"
	"logstow/query/rowset"
)

// Fields are the parts of records that a worker needs: the values of columns, and the second of the time, if Seconds is set. Columns are
// fields of lines of a form or, without a form, attributes, by their labels, and labels of streams: level, source and instance.
type Fields struct {
	Form    message.Form
	Columns []columns.Name
	Seconds bool
}

// FieldBlock has the parts of records of one service that [Fields] requests.
type FieldBlock struct {
	// Set has the values of Fields.Columns.
	*rowset.Set
	// Stream returns the stream of records with these values; nil if they are not selected. Only the labels that Fields requests are
	// valid: service_name, level with detected_level, source and instance.
	Stream func(values []message.Value) *pipeline.Stream
}

// requiredFields returns the fields from which the range aggregation can be computed without lines. It is nil unless json
// or logfmt is the only parser, or there is none and the query is about attributes, no other stage reads the line, and series and filters
// use only labels that cannot be found under several names.
func (p *rangePlan) requiredFields() *Fields {
	switch p.agg.Op {
	case syntax.CountOver, syntax.Rate, syntax.AbsentOver, syntax.SumOver, syntax.AvgOver, syntax.MinOver, syntax.MaxOver,
		syntax.StddevOver, syntax.StdvarOver, syntax.QuantileOver:
	default: // the length of the line, or the time in nanoseconds
		return nil
	}
	names, ok := p.pipe.Fields()
	form, fields := formOf(p.stages)
	if !ok || p.group.without || len(p.log.Stages) != len(p.stages) || !fields {
		return nil
	}
	f := &Fields{Form: form, Seconds: p.windows.n > 1}
	if f.Seconds && p.windows.commonWidth()%int64(time.Second) != 0 || !f.addNames(names) {
		return nil
	}
	if form == message.NoForm && !f.hasLabels() &&
		!slices.ContainsFunc(p.log.Matchers, func(m *syntax.Matcher) bool { return labels.Column(m.Name) == "" }) {
		return nil // counts by metadata are as fast
	}
	return f
}

// hasLabels reports whether there are columns besides labels of streams.
func (f *Fields) hasLabels() bool {
	return slices.ContainsFunc(f.Columns, func(c columns.Name) bool { return c.Fixed == "" })
}

// addNames adds labels that stages read; it returns false if fields do not have one of them.
func (f *Fields) addNames(names []string) bool {
	for _, name := range names {
		switch column := labels.Column(name); {
		case labels.IsError(name), name == labels.Service:
		case column != "" && column != field.Service:
			f.AddFixed(column)
		case strings.HasSuffix(name, "_extracted"), message.LabelName(name, true) != name:
			return false
		default:
			f.AddLabel(name)
		}
	}
	return true
}

// AddFixed adds a label of streams, unless it is there.
func (f *Fields) AddFixed(name field.Fixed) {
	f.Columns = columns.AddNames(f.Columns, columns.Name{Fixed: name})
}

// AddLabel adds a field of lines of the form or, without a form, an attribute, unless it is there.
func (f *Fields) AddLabel(label string) {
	f.Columns = columns.AddNames(f.Columns, columns.Name{Label: label, Attribute: f.Form == message.NoForm})
}

// formOf returns the form of the lines that the first stage parses; NoForm if it parses none. ok reports whether all other stages process
// labels only.
func formOf(stages []syntax.Stage) (form message.Form, ok bool) {
	if len(stages) > 0 {
		if form = parsedForm(stages[0]); form != message.NoForm {
			stages = stages[1:]
		}
	}
	return form, !slices.ContainsFunc(stages, func(s syntax.Stage) bool { return !labelsOnly(s) })
}

// parsedForm returns the form of the lines from which a stage, json or logfmt without expressions and flags, extracts all
// fields.
func parsedForm(s syntax.Stage) message.Form {
	switch x := s.(type) {
	case *syntax.JSONParser:
		if len(x.Extractions) == 0 {
			return message.ObjectForm
		}
	case *syntax.LogfmtParser:
		if len(x.Extractions) == 0 && !x.Strict && !x.KeepEmpty {
			return message.PairsForm
		}
	}
	return message.NoForm
}

// labelsOnly reports whether a stage processes labels, and does not read the line, as templates may.
func labelsOnly(s syntax.Stage) bool {
	switch x := s.(type) {
	case *syntax.LabelFilter, *syntax.DropLabels, *syntax.KeepLabels:
		return true
	case *syntax.LabelFormat:
		return !slices.ContainsFunc(x.Items, func(i syntax.LabelFormatItem) bool { return i.Rename == "" })
	}
	return false
}

// maxConditions is the number of conditions on the numbers of one label that [numberUse] has.
const maxConditions = 4

// numberUse describes how a query uses a label whose value is a number.
type numberUse struct {
	// only is set if the number matters for conditions and as the unwrapped sample only, not as a text.
	only, unwrapped bool
	conditions      []*syntax.NumberCondition
}

// same reports whether the stages do the same with all numbers between the bounds of values.
func (u *numberUse) same(v *columns.Values) bool {
	least, err := strconv.ParseFloat(v.Least, 64)
	if err != nil || !u.only {
		return false
	}
	greatest, err := strconv.ParseFloat(v.Greatest, 64)
	return err == nil && !slices.ContainsFunc(u.conditions, func(c *syntax.NumberCondition) bool {
		return cmp.Compare(least, c.Value) != cmp.Compare(greatest, c.Value)
	})
}

// usesOf determines how stages and unwrap use the numbers of columns. Those of exact matter as texts.
func usesOf(cols []columns.Name, exact []string, stages []syntax.Stage, u *syntax.Unwrap) (uses []numberUse) {
	for _, name := range cols {
		use := numberUse{}
		if name.Fixed == "" && !slices.Contains(exact, name.Label) {
			use = useOf(name.Label, stages, u)
		}
		uses = append(uses, use)
	}
	return uses
}

// useAt is the use of a column: none but as a text for a column after those of uses.
func useAt(uses []numberUse, i int) numberUse {
	if i < len(uses) {
		return uses[i]
	}
	return numberUse{}
}

// useOf determines how stages and unwrap use a label.
func useOf(label string, stages []syntax.Stage, u *syntax.Unwrap) numberUse {
	use := numberUse{only: true}
	for _, s := range stages {
		switch x := s.(type) {
		case *syntax.LabelFilter:
			use.add(x.Condition, label)
		case *syntax.DropLabels:
			use.addItems(x.Items, label)
		case *syntax.KeepLabels:
			use.addItems(x.Items, label)
		case *syntax.LabelFormat:
			use.only = use.only && !slices.ContainsFunc(x.Items,
				func(i syntax.LabelFormatItem) bool { return i.Label == label || i.Rename == label })
		}
	}
	if u != nil {
		for _, f := range u.Filters {
			use.add(f.Condition, label)
		}
		if u.Label == label {
			use.only = use.only && u.Unit == syntax.UnitNone
			use.unwrapped = use.only
		}
	}
	if use.only = use.only && len(use.conditions) <= maxConditions; !use.only {
		use = numberUse{}
	}
	return use
}

// add adds a condition.
func (u *numberUse) add(c syntax.Condition, label string) {
	for _, leaf := range syntax.Leaves(c) {
		if syntax.LabelOf(leaf) != label {
			continue
		}
		x, isNumber := leaf.(*syntax.NumberCondition)
		if isNumber {
			u.conditions = append(u.conditions, x)
		}
		u.only = u.only && isNumber && x.Unit == syntax.UnitNone
	}
}

func (u *numberUse) addItems(items []syntax.LabelItem, label string) {
	u.only = u.only && !slices.ContainsFunc(items, func(i syntax.LabelItem) bool { return i.Matcher != nil && i.Name == label })
}
