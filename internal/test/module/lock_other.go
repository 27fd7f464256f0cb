//go:build !unix

package azurite

// lock does nothing here: run one test package first where file locks differ.
func lock(string) (unlock func(), err error) { return func() {}, nil }
