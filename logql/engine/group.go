package engine

import (
	"slices"
	"strings"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// grouper makes the labels of groups.
type grouper struct {
	without bool
	names   []string // sorted
	// aliased are names with labels.Service in place of its alias, nil if that is not among them; both is set if names have both.
	aliased []string
	both    bool
	// metadata are the names of structured metadata that without removes, sorted. A processor only includes metadata in
	// such a group if they are requested.
	metadata []string
}

func newGrouper(without bool, names ...string) *grouper {
	g := &grouper{without: without, names: sortedSet(names)}
	if slices.Contains(names, labels.ServiceAlias) {
		g.both = slices.Contains(names, labels.Service)
		g.aliased = sortedSet(append(slices.Clone(names), labels.Service))
		g.aliased = slices.DeleteFunc(g.aliased, func(n string) bool { return n == labels.ServiceAlias })
	}
	return g
}

func sortedSet(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// grouperOf returns the grouper of a vector aggregation. Without a grouping there is one group without labels.
func grouperOf(g *syntax.Grouping) *grouper {
	if g == nil {
		return newGrouper(false)
	}
	return newGrouper(g.Without, g.Labels...)
}

// key is different for groupers that make different groups.
func (g *grouper) key() string {
	if g.without {
		return "without " + strings.Join(g.names, ",")
	}
	return "by " + strings.Join(g.names, ",")
}

// of is the labels of the group that a series is in.
func (g *grouper) of(ls labels.Labels) labels.Labels {
	names, alias := g.names, false
	if g.aliased != nil && ls.Get(labels.ServiceAlias) == "" {
		names, alias = g.aliased, true
	}
	if g.without {
		return ls.Without(names...)
	}
	return g.rename(ls.Keep(names...), alias)
}

// keyOf is the key of the group that a series is in.
func (g *grouper) keyOf(ls labels.Labels) string { return string(g.of(ls).AppendKey(nil)) }

// rename gives the service the name that the query has for it.
func (g *grouper) rename(ls labels.Labels, alias bool) labels.Labels {
	if !alias || g.without {
		return ls
	}
	service := ls.Get(labels.Service)
	if !g.both {
		ls = ls.Without(labels.Service)
	}
	return ls.With(labels.Label{Name: labels.ServiceAlias, Value: service})
}

// appendKey appends the key of the group of the processor's record; labels are the labels of the group.
func (g *grouper) appendKey(dst []byte, p *pipeline.Processor) []byte {
	names, alias := g.ofRecord(p)
	dst = p.AppendGroup(append(dst, byte(b2i(alias))), g.without, names)
	if len(g.metadata) > 0 {
		dst = p.AppendGroup(append(dst, 0), false, g.metadata)
	}
	return dst
}

func (g *grouper) labels(p *pipeline.Processor) labels.Labels {
	names, alias := g.ofRecord(p)
	ls := g.rename(p.Group(g.without, names), alias)
	if len(g.metadata) > 0 {
		ls = labels.Join(ls.Without(g.metadata...), p.Group(false, g.metadata))
	}
	return ls
}

func (g *grouper) ofRecord(p *pipeline.Processor) (names []string, alias bool) {
	if g.aliased != nil && p.Get(labels.ServiceAlias) == "" {
		return g.aliased, true
	}
	return g.names, false
}

// uses reports whether a label can make a difference to the group.
func (g *grouper) uses(name string) bool {
	names := g.names
	if g.aliased != nil {
		names = g.aliased
	}
	return slices.Contains(names, name) != g.without
}
