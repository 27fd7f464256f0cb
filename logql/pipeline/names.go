package pipeline

import (
	"strings"

	"logstow/message"
)

// names caches the keys that parsers have found, with their labels. Lines usually repeat the keys of the previous lines in
// the same order, so the next key is first compared with the one that followed last time.
type names struct{ size int } // approximate memory in bytes

// keySize is the approximate memory of a key and its symbol without their texts.
const keySize = 512

// A key is a key of a parser's input.
type key struct {
	raw string // as written
	// name is the name of its label, "" if it has none. sym is the label's symbol, nil if no parser adds it.
	name string
	sym  *symbol
	// inner is set if the members of its object may be wanted.
	inner bool

	parent   *key
	children map[string]*key
	next     *key // that which followed last time
}

// child is the key of a parent that raw is; last is the key that came before. unescape makes the text of raw.
func (p *Processor) child(parent, last *key, raw []byte, unescape func(p *Processor, raw []byte) []byte) *key {
	if n := last.next; n != nil && n.parent == parent && string(raw) == n.raw {
		return n
	}
	k := parent.children[string(raw)]
	if k == nil {
		k = p.newKey(parent, raw, unescape(p, raw))
	}
	last.next = k
	return k
}

func (p *Processor) newKey(parent *key, raw, text []byte) *key {
	k := &key{raw: string(raw), parent: parent}
	if parent.children == nil {
		parent.children = map[string]*key{}
	}
	parent.children[k.raw] = k
	k.name = message.LabelName(string(text), parent.name == "")
	if parent.name != "" {
		k.name = parent.name + "_" + k.name
	}
	p.names.size += keySize + len(k.raw) + len(k.name)
	if k.name == "" {
		return k
	}
	if p.mayAdd(k.name) {
		k.sym = p.symbol(k.name)
	}
	k.inner = p.all || p.exact
	for _, s := range p.wanted {
		k.inner = k.inner || strings.HasPrefix(s.name, k.name+"_")
	}
	return k
}

// LabelName is the label of a key, or of keys that are joined by _.
func LabelName(key string) string { return message.LabelName(key, true) }
