// Package certs reads certificate authorities and the certificates of servers.
package certs

import (
	"crypto/x509"
	"fmt"

	"logstow/internal/limited"
)

// maxFile is the maximum size of a file in bytes; those of operating systems have a quarter of it.
const maxFile = 1 << 20

// Authorities are the system's certificate authorities and those of a file.
func Authorities(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	return pool, add(pool, file)
}

// Only are the certificate authorities of a file alone.
func Only(file string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	return pool, add(pool, file)
}

func add(pool *x509.CertPool, file string) error {
	encoded, err := limited.File(file, maxFile)
	if err != nil {
		return fmt.Errorf("read certificate authorities: %w", err)
	}
	if !pool.AppendCertsFromPEM(encoded) {
		return fmt.Errorf("read certificate authorities: no certificate in %s: want PEM, BEGIN CERTIFICATE", file)
	}
	return nil
}
