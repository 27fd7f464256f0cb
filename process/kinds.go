package process

import "bytes"

// kind is a built-in kind of secret.
type kind struct {
	name string
	// A message with such a secret contains one text of each of hints.
	hints [][]string
	// find returns the start and end of the first secret from m[from] on; an empty range if there is
	// none. It reads m only up to the end of the secret.
	find func(m []byte, from int) (start, end int)
	// keys are the ends of names, in lower case, of attributes that are such a secret: those for which isValue holds, or all if it is nil.
	keys    []string
	isValue func(value []byte) bool
}

// Kinds are the names of the secrets that can be redacted without an expression:
//
//	bearer             the token after the word Bearer
//	jwt                JSON web tokens anywhere
//	sas                the signature (sig=) of shared access signatures
//	azure-key          keys of storage accounts
//	connection-string  keys, passwords and signatures in connection strings
//	url-password       the password of user:password@host in addresses
//	card               numbers of payment cards, by prefix, length and check digit
//
// The text around a secret shows what it was; the secret becomes [redacted:KIND].
func Kinds() []string {
	var names []string
	for _, k := range builtIn() {
		names = append(names, k.name)
	}
	return names
}

// builtIn returns all kinds. They are found in plain text, in JSON strings with any escapes (\u0026sig=,
// \u002B, \/), and in percent-encoded addresses (%2B).
func builtIn() []kind {
	equals := []string{"=", "%3", `\u003`}
	settings := []string{"accountkey", "accesskey", "primarykey", "secondarykey", "password", "passwd", "pwd", "secret", "sharedaccesssignature"}
	return []kind{
		{
			name: "bearer", hints: [][]string{{"Bearer", "BEARER", "bearer"}}, find: bearer,
			keys: []string{"bearer"}, isValue: func(value []byte) bool { _, n := run(value, 0, isOpaque, unit); return n >= minToken },
		},
		{name: "jwt", hints: [][]string{{"eyJ"}, {"."}}, find: webToken},
		{
			name: "sas", hints: [][]string{equals, {"sig", "Sig", "SIG"}}, find: keyedBy([]string{"sig"}, signature),
			keys: []string{"sig"}, isValue: func(value []byte) bool { _, end := signature(value, 0); return end > 0 },
		},
		{name: "azure-key", hints: [][]string{{"==", "%3D", "%3d", `\u003`}}, find: accountKey},
		{name: "connection-string", hints: [][]string{equals}, find: keyedBy(settings, setting), keys: settings},
		{name: "url-password", hints: [][]string{{"@"}, {"://", `:\`}}, find: addressPassword},
		{name: "card", find: findCard},
	}
}

// keyedBy returns a function that finds the values of keys, as [keyed].
func keyedBy(keys []string, value func(m []byte, i int) (start, end int)) func(m []byte, from int) (start, end int) {
	return func(m []byte, from int) (int, int) { return keyed(m, from, keys, value) }
}

// minToken is the length of the shortest token: realm= is not one.
const minToken = 7

// bearer finds the token after the word.
func bearer(m []byte, from int) (start, end int) {
	const word = "bearer"
	for i := from; i+len(word) < len(m); i++ {
		if m[i]|0x20 != 'b' || !endsWith(m[i:i+len(word)], []string{word}) {
			continue
		}
		begin := i + len(word)
		start, gap := run(m, begin, func(c byte) bool { return c == ' ' || c == '\t' || c == ':' || c == '=' || c == '"' }, webUnit)
		if end, n := run(m, start, isOpaque, unit); (gap > 0 || start < len(m) && m[start] == '+') && n >= minToken {
			return start, end
		}
		i = begin - 1
	}
	return 0, 0
}

// isOpaque reports whether a token may contain a character.
func isOpaque(c byte) bool {
	switch c {
	case '"', '\'', '`', ',', ';', '&', '<', '>', '(', ')', '[', ']', '{', '}':
		return false
	}
	return c > ' '
}

// webToken finds two or more base64 parts separated by dots, of which the first one begins with the
// encoding of a JSON object.
func webToken(m []byte, from int) (start, end int) {
	const minPart = 8
	part := func(c byte) bool { return isWord(c) || c == '-' }
	for {
		i := bytes.Index(m[from:], []byte("eyJ"))
		if i < 0 {
			return 0, 0
		}
		start = from + i
		end, n := run(m, start, part, unit)
		if from = end; n < minPart || end == len(m) || m[end] != '.' {
			continue
		}
		for end < len(m) && m[end] == '.' {
			end, _ = run(m, end+1, part, unit)
		}
		return start, end
	}
}

// signature finds the value of a SAS, which usually has 32 bytes in base64. Fewer than 12 bytes are not a
// signature.
func signature(m []byte, i int) (start, end int) {
	const minSignature = 16 // characters
	if end, n := run(m, i, func(c byte) bool { return isBase64(c) || c == '=' || c == '%' || c == '-' || c == '_' }, webUnit); n >= minSignature {
		return i, end
	}
	return 0, 0
}

func isBase64(c byte) bool { return isDigit(c) || isLetter(c) || c == '+' || c == '/' }

// accountKey finds 64 bytes in base64: 86 characters and two of padding.
func accountKey(m []byte, from int) (start, end int) {
	const size = 86
	var starts [size]int // the starts of the last characters, as a ring
	n := 0
	for i := from; i < len(m); {
		c, width := webUnit(m, i)
		switch {
		case isBase64(c):
			starts[n%size] = i
			n++
		case c == '=' && n >= size && i+width < len(m):
			if c, second := webUnit(m, i+width); c == '=' {
				return starts[n%size], i + width + second
			}
			n = 0
		default:
			n = 0
		}
		i += width
	}
	return 0, 0
}

// setting finds a value of a connection string, which may be quoted or, of ODBC, in braces.
func setting(m []byte, i int) (start, end int) {
	start, _ = run(m, i, func(c byte) bool { return c == ' ' }, func(m []byte, i int) (byte, int) { return m[i], 1 })
	if start == len(m) {
		return 0, 0
	}
	if quote, width := unit(m, start); quote == '"' || quote == '\'' || quote == '{' {
		start += width
		if start == len(m) {
			return 0, 0
		}
		switch c, _ := unit(m, start); c {
		case quote, ',', ':', '}', ']', ' ':
			return 0, 0 // it ended a string around the key, or it is empty
		}
		if quote == '{' {
			quote = '}'
		}
		left := 512 // characters
		end, _ = run(m, start, func(c byte) bool { left--; return left >= 0 && c != quote && c >= ' ' }, unit)
		if end < len(m) {
			if c, _ := unit(m, end); c == quote && (m[0] != '{' || !leavesString(m[start:end])) {
				return start, end
			}
		}
	}
	end, _ = run(m, start, func(c byte) bool { return c > ' ' && c != ';' && c != '"' && c != '\'' }, unit)
	return start, end
}

// addressPassword finds the text between the first colon and the last @ in the authority
// part of an address.
func addressPassword(m []byte, from int) (start, end int) {
	for i := from; ; {
		colon := bytes.IndexByte(m[i:], ':')
		if colon < 0 {
			return 0, 0
		}
		i += colon + 1
		next, slashes := run(m, i, func(c byte) bool { return c == '/' }, unit)
		if slashes < 2 {
			continue
		}
		start, end = 0, 0
		for k := next; k < len(m); {
			c, width := unit(m, k)
			if c <= ' ' || c == '/' || c == '?' || c == '#' || c == '"' || c == '\'' || c == '<' || c == '>' {
				break
			}
			switch {
			case c == ':' && start == 0:
				start = k + width
			case c == '@' && start > 0:
				end = k
			}
			k += width
		}
		if end > start && !bytes.HasPrefix(m[start:], []byte(marked)) {
			return start, end
		}
	}
}
