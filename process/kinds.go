package process

import "regexp"

// kind is a kind of secret that is known here.
type kind struct {
	name string
	// A message that holds such a secret holds all bytes of one of needs, and one of
	// hints if there are any.
	needs   []string
	hints   [][]byte
	replace func(mark string) func([]byte) []byte
}

// Kinds are the names of the secrets that can be taken out without an expression:
//
//	bearer             the token after the word Bearer
//	jwt                JSON web tokens anywhere
//	sas                the signature (sig=) of shared access signatures
//	azure-key          keys of storage accounts
//	connection-string  keys, passwords and signatures in connection strings
//	url-password       the password of user:password@host in addresses
//	card               numbers of payment cards, by prefix, length and check digit
//
// What stays around a secret shows what it was; the secret becomes [redacted:KIND].
func Kinds() []string {
	var names []string
	for _, k := range builtIn() {
		names = append(names, k.name)
	}
	return names
}

// builtIn are all kinds. Each expression has one group: what is taken out. They
// also match where a message is a JSON string (\u0026 for &, \/ for /).
func builtIn() []kind {
	return []kind{
		{"bearer", []string{""}, texts("Bearer", "bearer", "BEARER"), group(regexp.MustCompile(`\b(?:Bearer|bearer|BEARER)(?:\s|%20|\+|\\t)+([A-Za-z0-9\-._~+/]{6,}=*)`))},
		// A token's head is the JSON text {" in base64.
		{"jwt", []string{"J."}, texts("eyJ"), group(regexp.MustCompile(`(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]+)?)`))},
		{"sas", []string{"=", "%3"}, texts("sig=", "sig%3", "Sig=", "SIG="), group(regexp.MustCompile(`(?i)sig(?:=|%3d)([A-Za-z0-9%+/=_-]{16,})`))},
		// 64 bytes in base64.
		{"azure-key", []string{"="}, texts("=="), group(regexp.MustCompile(`([A-Za-z0-9+/]{86}==)`))},
		{"connection-string", []string{"="}, nil, group(regexp.MustCompile(
			`(?i)(?:\b(?:accountkey|sharedaccesskey|primarykey|secondarykey|accesskey|password|pwd|sharedaccesssignature))=([^;"'\s\\]{3,})`))},
		{"url-password", []string{":/@"}, texts("://", `:\/\/`), group(regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*:(?:\\?/){2}[^\s/:@"'<>\\]*:([^\s/@"'<>\\]+)@`))},
		{"card", []string{""}, nil, cards},
	}
}

func texts(all ...string) (hints [][]byte) {
	for _, text := range all {
		hints = append(hints, []byte(text))
	}
	return hints
}
