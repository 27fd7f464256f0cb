package azure

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"logstow/store"
)

// enumeration decodes a page of a listing, the XML document EnumerationResults of
// https://learn.microsoft.com/rest/api/storageservices/list-blobs#response-body.
//
// It supports the subset of XML that storage writes, and only the properties in [store.Blob]. A general
// decoder takes 20 times as long, which would dominate the planning of a query over many segments. If a
// page has anything else (attributes, comments, CDATA sections, unknown entities), it is rejected, and the
// caller lets the SDK decode it.
type enumeration struct {
	rest []byte
	enumerated
	next string // the marker of the next page

	depth int                  // of the current element
	keys  map[string]string    // metadata keys seen, in lower case as in the SDK
	times map[string]time.Time // creation times seen: blobs of a page share them
	text  []byte               // unescaped, of one blob
}

// enumerated is the content of a page.
type enumerated struct {
	blobs []store.Blob
	// directories are the directories of a hierarchical namespace, which storage lists as blobs.
	directories []string
}

// add adds a blob, or a directory that is listed like one.
func (e *enumerated) add(b store.Blob, directory bool) {
	if directory || b.Metadata[folderKey] == "true" {
		e.directories = append(e.directories, b.Name)
		return
	}
	e.blobs = append(e.blobs, b)
}

// The marks of a directory in a hierarchical namespace: a property, and metadata that older
// versions of the service write too.
const (
	directoryType = "directory"
	folderKey     = "hdi_isfolder"
)

// decodeEnumeration decodes a page. ok is false if the page is not supported.
func decodeEnumeration(page []byte) (items enumerated, next string, ok bool) {
	page = bytes.TrimPrefix(page, []byte("\xef\xbb\xbf"))
	if !plainText(page) {
		return enumerated{}, "", false
	}
	e := enumeration{
		rest: page, keys: make(map[string]string), times: make(map[string]time.Time),
		enumerated: enumerated{blobs: make([]store.Blob, 0, bytes.Count(page, []byte("<Blob>")))},
	}
	if rest, found := bytes.CutPrefix(e.rest, []byte(`<?xml version="1.0" encoding="`)); found {
		encoding, after, _ := bytes.Cut(rest, []byte(`"`))
		after = bytes.TrimPrefix(after, []byte(` standalone="yes"`))
		if e.rest, found = bytes.CutPrefix(after, []byte("?>")); !found || !bytes.EqualFold(encoding, []byte("utf-8")) {
			return enumerated{}, "", false
		}
	}
	root, ok := e.open(true)
	ok = ok && string(root.name) == "EnumerationResults" && e.children(root, e.result)
	if !ok || len(bytes.TrimSpace(e.rest)) > 0 {
		return enumerated{}, "", false
	}
	return e.enumerated, e.next, true
}

// plainText reports whether text is valid XML text that decoding does not change: UTF-8 without
// control characters other than tab and newline.
func plainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	// A carriage return is read as a newline; U+FFFE and U+FFFF are not allowed.
	return utf8.Valid(text) && !bytes.ContainsRune(text, '\r') && !bytes.Contains(text, []byte("\xef\xbf\xbe")) &&
		!bytes.Contains(text, []byte("\xef\xbf\xbf"))
}

// maxDepth is the maximum nesting of elements; storage nests less.
const maxDepth = 16

// tag is the start of an element.
type tag struct {
	name  []byte
	empty bool // it is also the end of the element
}

// open reads the start of an element, after spaces. Attributes are skipped where allowed.
func (e *enumeration) open(attributes bool) (tag, bool) {
	e.rest = bytes.TrimLeft(e.rest, " \t\n")
	if len(e.rest) < 2 || e.rest[0] != '<' {
		return tag{}, false
	}
	end := bytes.IndexByte(e.rest, '>')
	if end < 0 {
		return tag{}, false
	}
	inside := e.rest[1:end]
	e.rest = e.rest[end+1:]
	inside, empty := bytes.CutSuffix(inside, []byte("/"))
	name, given, _ := bytes.Cut(inside, []byte(" "))
	plain := len(bytes.TrimSpace(given)) == 0 || attributes && areAttributes(given)
	return tag{name, empty}, plain && isName(name)
}

// isName reports whether a name has only the characters that storage uses in names of elements.
func isName(name []byte) bool {
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		other := c >= '0' && c <= '9' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return len(name) > 0
}

// areAttributes reports whether text is a list of name="value" whose values need no decoding.
func areAttributes(text []byte) bool {
	for {
		if text = bytes.TrimLeft(text, " \t\n"); len(text) == 0 {
			return true
		}
		name, after, found := bytes.Cut(text, []byte(`="`))
		value, rest, closed := bytes.Cut(after, []byte(`"`))
		if !found || !closed || !isName(name) || bytes.ContainsAny(value, "<&") || len(rest) > 0 && rest[0] != ' ' {
			return false
		}
		text = rest
	}
}

// close reads the end of an element, if it is next.
func (e *enumeration) close(name []byte) bool {
	rest, ok := bytes.CutPrefix(e.rest, []byte("</"))
	if !ok {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest, name); !ok || len(rest) == 0 || rest[0] != '>' {
		return false
	}
	e.rest = rest[1:]
	return true
}

// children reads an element that contains only elements to its end. It calls use for each of them.
func (e *enumeration) children(parent tag, use func(child tag) bool) bool {
	if parent.empty {
		return true
	}
	if e.depth++; e.depth > maxDepth {
		return false
	}
	defer func() { e.depth-- }()
	for {
		e.rest = bytes.TrimLeft(e.rest, " \t\n")
		if e.close(parent.name) {
			return true
		}
		child, ok := e.open(false)
		if !ok || !use(child) {
			return false
		}
	}
}

// skip skips an element with its content.
func (e *enumeration) skip(t tag) bool {
	if t.empty {
		return true
	}
	text := bytes.IndexByte(e.rest, '<')
	if text < 0 {
		return false
	}
	if _, ok := appendText(nil, e.rest[:text]); !ok {
		return false
	}
	if e.rest = e.rest[text:]; e.close(t.name) {
		return true
	}
	// Storage mixes no text with elements.
	return e.children(t, e.skip)
}

// raw is the text of an element that contains only text, still escaped.
func (e *enumeration) raw(t tag) ([]byte, bool) {
	if t.empty {
		return nil, true
	}
	end := bytes.IndexByte(e.rest, '<')
	if end < 0 {
		return nil, false
	}
	text := e.rest[:end]
	e.rest = e.rest[end:]
	return text, e.close(t.name)
}

// result reads the direct children of EnumerationResults.
func (e *enumeration) result(t tag) bool {
	switch string(t.name) {
	case "Blobs":
		return e.children(t, e.blob)
	case "NextMarker":
		text, ok := e.raw(t)
		if !ok {
			return false
		}
		unescaped, ok := appendText(nil, text)
		e.next = string(unescaped)
		return ok
	default:
		return e.skip(t)
	}
}

// span is a part of a blob's text.
type span struct{ from, to int }

func (s span) of(text string) string { return text[s.from:s.to] }

// value reads the text of an element into e.text.
func (e *enumeration) value(t tag) (span, bool) {
	raw, ok := e.raw(t)
	if !ok {
		return span{}, false
	}
	from := len(e.text)
	e.text, ok = appendText(e.text, raw)
	return span{from, len(e.text)}, ok
}

// blob reads one blob. All its strings share one allocation, so that a blob does not retain its
// page.
func (e *enumeration) blob(t tag) bool {
	if string(t.name) != "Blob" {
		return false
	}
	var (
		b                store.Blob
		name, etag, tier span
		directory        bool
		keys             [24]string
		values           [24]span
		n                int
	)
	e.text = e.text[:0]
	property := func(t tag) (ok bool) {
		switch string(t.name) {
		case "Etag":
			etag, ok = e.value(t)
		case "AccessTier":
			tier, ok = e.value(t)
		case "AccessTierInferred":
			var raw []byte
			raw, ok = e.raw(t)
			b.TierInferred = string(raw) == "true"
			ok = ok && (b.TierInferred || string(raw) == "false" || len(raw) == 0)
		case "BlobType":
			var raw []byte
			raw, ok = e.raw(t)
			b.Paged = string(raw) == string(container.BlobTypePageBlob)
			b.Appended = string(raw) == string(container.BlobTypeAppendBlob)
		case "ResourceType":
			var raw []byte
			raw, ok = e.raw(t)
			directory = string(raw) == directoryType
		case "Content-Length":
			var raw []byte
			if raw, ok = e.raw(t); ok {
				b.Size, ok = parseSize(raw)
			}
		case "Creation-Time":
			var raw []byte
			if raw, ok = e.raw(t); ok {
				b.Created, ok = e.time(raw)
			}
		case "Last-Modified":
			var raw []byte
			if raw, ok = e.raw(t); ok {
				b.Modified, ok = e.time(raw)
			}
		default:
			ok = e.skip(t)
		}
		return ok
	}
	metadata := func(t tag) (ok bool) {
		if n == len(keys) {
			return false
		}
		keys[n] = e.key(t.name)
		values[n], ok = e.value(t)
		n++
		return ok
	}
	ok := e.children(t, func(t tag) (ok bool) {
		switch string(t.name) {
		case "Name":
			name, ok = e.value(t)
		case "Properties":
			ok = e.children(t, property)
		case "Metadata":
			ok = e.children(t, metadata)
		default:
			ok = e.skip(t)
		}
		return ok
	})
	text := string(e.text)
	b.Name, b.ETag, b.Tier = name.of(text), strings.Trim(etag.of(text), `"`), store.Tier(tier.of(text))
	b.Metadata = make(map[string]string, n)
	for i := range n {
		b.Metadata[keys[i]] = values[i].of(text)
	}
	e.add(b, directory)
	return ok && b.Name != ""
}

// key is a metadata key in lower case.
func (e *enumeration) key(name []byte) string {
	key, ok := e.keys[string(name)]
	if !ok {
		key = strings.ToLower(string(name))
		e.keys[string(name)] = key
	}
	return key
}

func (e *enumeration) time(text []byte) (time.Time, bool) {
	if t, ok := e.times[string(text)]; ok {
		return t, true
	}
	t, err := time.Parse(time.RFC1123, string(text))
	if err != nil {
		return time.Time{}, false
	}
	t = t.UTC()
	e.times[string(text)] = t
	return t, true
}

func parseSize(text []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && n >= 0
}

// appendText appends unescaped text to b.
func appendText(b, text []byte) ([]byte, bool) {
	for {
		before, after, found := bytes.Cut(text, []byte("&"))
		b = append(b, before...)
		if !found {
			return b, !bytes.Contains(text, []byte("]]>"))
		}
		entity, rest, closed := bytes.Cut(after, []byte(";"))
		if !closed {
			return b, false
		}
		switch string(entity) {
		case "amp":
			b = append(b, '&')
		case "lt":
			b = append(b, '<')
		case "gt":
			b = append(b, '>')
		case "quot":
			b = append(b, '"')
		case "apos":
			b = append(b, '\'')
		default:
			return b, false
		}
		text = rest
	}
}
