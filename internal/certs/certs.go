// Package certs reads certificate authorities.
package certs

import (
	"crypto/x509"
	"fmt"
	"os"
)

// Authorities are the system's certificate authorities and those of a file.
func Authorities(file string) (*x509.CertPool, error) {
	encoded, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read certificate authorities: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	if !pool.AppendCertsFromPEM(encoded) {
		return nil, fmt.Errorf("read certificate authorities: no certificate in %s: want PEM, BEGIN CERTIFICATE", file)
	}
	return pool, nil
}
