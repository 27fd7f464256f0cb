// Package testpki makes certificates for tests.
package testpki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// PKI is an authority (ca) with a certificate for a server on localhost, 127.0.0.1
// and storage.test (server) and one for a client (client), as files NAME.pem and NAME.key.
type PKI struct {
	dir string
	// Pool trusts the authority.
	Pool *x509.CertPool
	// Client is the client's certificate.
	Client tls.Certificate
}

// Path is that of a file.
func (p *PKI) Path(name string) string { return filepath.Join(p.dir, name) }

// New makes one, in a directory that goes with the test.
func New(t testing.TB) *PKI {
	t.Helper()
	p := &PKI{dir: t.TempDir(), Pool: x509.NewCertPool()}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	key := p.issue(t, "ca", ca, ca, nil)
	p.Pool.AddCert(ca)
	for i, name := range []string{"server", "client"} {
		p.issue(t, name, &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)),
			Subject:      pkix.Name{CommonName: "localhost"},
			DNSNames:     []string{"localhost", "storage.test"},
			IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
			NotBefore:    time.Now().Add(-time.Hour),
			NotAfter:     time.Now().Add(time.Hour),
			KeyUsage:     x509.KeyUsageDigitalSignature,
			ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}, ca, key)
	}
	var err error
	if p.Client, err = tls.LoadX509KeyPair(p.Path("client.pem"), p.Path("client.key")); err != nil {
		t.Fatal(err)
	}
	return p
}

// issue writes a certificate and its key; a nil parent's key is a certificate signed by itself.
func (p *PKI) issue(t testing.TB, name string, c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err := x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	} else {
		*c = *parsed
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		//nolint:forbidigo // files of a test need no syncing
		if err := os.WriteFile(p.Path(file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}
