// Package attributes has the attributes of a record: what a sender says about a record besides its time, level, source and message.
//
// Attributes are one JSON object in canonical form: without blanks, members in byte order of their names, no name twice, strings in UTF-8
// that escape only quotes, backslashes and control characters. Those of the record are members of the object itself. What a record shares
// with others is in objects of its own: [Resource], [Scope] and [Stream].
//
//	{"http.route":"/cart","resource":{"k8s.pod.name":"shop-5d"},"trace_id":"5b8efff798038103d269b633813fc60c"}
//
// Types survive: integers, doubles (which have a fraction or an exponent), booleans, arrays and maps are JSON's. Bytes that are not UTF-8
// are {"$bytes":"BASE64"}, doubles that JSON lacks {"$double":"NaN"}. A name that would be one of these has a further $ in front.
package attributes

import (
	"slices"
	"strings"
)

// The names of the objects of attributes that are not of the record itself.
const (
	// Resource has the attributes of the resource that logged the record: of OpenTelemetry's data model.
	Resource = "resource"
	// Scope has those of the instrumentation scope.
	Scope = "scope"
	// Stream has the labels of the record's stream: of Loki's push API.
	Stream = "stream"
)

// Groups are the names of all objects, in the order in which a name is looked up, after the attributes of the record.
func Groups() []string { return []string{Stream, Scope, Resource} }

// IsGroup reports whether a name is that of an object of attributes.
func IsGroup[T string | []byte](name T) bool {
	switch string(name) {
	case Resource, Scope, Stream:
		return true
	}
	return false
}

// The names of the fields of resource and scope of OpenTelemetry's data model that are no attributes of theirs. They are stored beside the
// attributes of the record.
const (
	ResourceSchema  = "resource_schema_url"
	ResourceDropped = "resource_dropped_attributes_count"
	ScopeName       = "scope_name"
	ScopeVersion    = "scope_version"
	ScopeSchema     = "scope_schema_url"
	ScopeDropped    = "scope_dropped_attributes_count"
)

// Limits of one record. What exceeds them is cut, see [Append].
const (
	// MaxCount is the maximum number of attributes of the record, and of each object.
	MaxCount = 128
	// MaxSize is the maximum size of the encoded attributes in bytes.
	MaxSize = 64 << 10
	// MaxName is the maximum length of a name in bytes.
	MaxName = 1 << 10
	// MaxDepth is the maximum nesting of arrays and maps in a value.
	MaxDepth = 16
)

// Prefix precedes the name of an attribute of the record that has the name of something else.
const Prefix = "attribute."

// Cut is the name of the member that counts values which were cut, or left out, to keep the limits.
const Cut = "$cut"

// The names of the only member of an object that stands for a value without a JSON type.
const (
	bytesName  = "$bytes"
	doubleName = "$double"
)

// OwnName returns the name under which an attribute of the record is stored: Prefix precedes the names of objects, and those in reserved,
// however often it precedes them already. So every name has a form of its own.
func OwnName(name string, reserved ...string) string {
	bare := name
	for strings.HasPrefix(bare, Prefix) {
		bare = bare[len(Prefix):]
	}
	if IsGroup(bare) || slices.Contains(reserved, bare) {
		return Prefix + name
	}
	return mapName(name)
}

// mapName returns the name of a member of a map: those with a meaning here have a $ more.
func mapName(name string) string {
	switch bare := strings.TrimLeft(name, "$"); {
	case len(bare) == len(name):
	case bare == bytesName[1:] || bare == doubleName[1:] || bare == Cut[1:]:
		return "$" + name
	}
	return name
}
