package columns

import (
	"strings"

	"logstow/message"
	"logstow/record/attributes"
)

// AttributeNames are the names of the attributes in the records of a block. Call Reset first.
type AttributeNames struct {
	// seen has the names by object, as they are written, and a zero byte before those in maps; byLabel the name with each label, "" if
	// there are several.
	seen    map[string]map[string]bool
	byLabel map[string]string
}

// Reset begins a block.
func (n *AttributeNames) Reset() {
	n.seen, n.byLabel = map[string]map[string]bool{}, map[string]string{}
}

// Add adds the names of encoded attributes.
func (n *AttributeNames) Add(text []byte) {
	members := message.Object(text)
	for key, v, ok := members.Next(); ok; key, v, ok = members.Next() {
		if attributes.IsGroup(key) && v[0] == '{' {
			inner := message.Object(v)
			for innerKey, v, ok := inner.Next(); ok; innerKey, v, ok = inner.Next() {
				n.addName(string(key), innerKey, v)
			}
			continue
		}
		n.addName("", key, v)
	}
}

// addName adds the name of an attribute with a value, and of the members of a map.
func (n *AttributeNames) addName(object string, key, value []byte) {
	known := n.seen[object]
	isMap := value[0] == '{' && attributes.IsMap("", value)
	if !isMap && known[string(key)] {
		return
	}
	if known == nil {
		known = map[string]bool{}
		n.seen[object] = known
	}
	name := string(message.Unescape(nil, key))
	if object == "" {
		name = strings.TrimPrefix(name, attributes.Prefix)
	}
	if !isMap {
		known[string(key)] = true
		n.addLabel(name)
		return
	}
	for inner, v := range message.AllMembers(value, attributes.IsMap) {
		if path := string(key) + "\x00" + inner; !v.IsObject() && !known[path] {
			known[path] = true
			n.addLabel(name + "." + inner)
		}
	}
}

// addLabel adds an attribute, whose name and object are not known yet.
func (n *AttributeNames) addLabel(name string) {
	label := message.LabelName(name, true)
	if _, taken := n.byLabel[label]; taken {
		name = ""
	}
	n.byLabel[label] = name
}

// Any reports whether a record has attributes.
func (n *AttributeNames) Any() bool { return len(n.byLabel) > 0 }

// Only reports whether no attribute but the one with a name, in one object, has its label.
func (n *AttributeNames) Only(name string) bool {
	found, ok := n.byLabel[message.LabelName(name, true)]
	return !ok || found == name
}
