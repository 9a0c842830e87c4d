package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pki is a folder with the keys of one cluster: a certificate authority, a certificate for each server and user, and the
// key that signs service accounts' tokens.
type pki struct{ dir string }

// clusterUsers are the cluster's users and the groups that they are in.
var clusterUsers = map[string][]string{
	"admin":                          {"system:masters"},
	"system:kube-controller-manager": nil,
	"system:kube-scheduler":          nil,
}

// openPKI makes the keys, unless they are there.
func openPKI(dir string) (pki, error) {
	p := pki{dir: dir}
	complete := p.file("complete")
	if _, err := os.Stat(complete); err == nil {
		return p, nil
	}
	caKey, err := newKey()
	if err != nil {
		return p, err
	}
	ca := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "recoup development stack"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if err := p.issue("ca", ca, caKey, ca, caKey); err != nil {
		return p, err
	}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if err := p.issueNew("serving", serving, ca, caKey); err != nil {
		return p, err
	}
	for user, groups := range clusterUsers {
		client := &x509.Certificate{
			Subject:     pkix.Name{CommonName: user, Organization: groups},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		if err := p.issueNew(user, client, ca, caKey); err != nil {
			return p, err
		}
	}
	accounts, err := newKey()
	if err != nil {
		return p, err
	}
	return p, errors.Join(p.writeKey("service-accounts", accounts), writeFile(complete, nil, 0o644))
}

func (p pki) file(name string) string { return filepath.Join(p.dir, name) }

func (p pki) issueNew(name string, cert, ca *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	return p.issue(name, cert, key, ca, caKey)
}

// issue writes <name>.crt and <name>.key.
func (p pki) issue(name string, cert *x509.Certificate, key *ecdsa.PrivateKey, ca *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("drawing a serial number: %w", err)
	}
	cert.SerialNumber = serial
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, &key.PublicKey, caKey)
	if err != nil {
		return fmt.Errorf("issuing the certificate of %s: %w", name, err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return errors.Join(writeFile(p.file(name+".crt"), block, 0o644), p.writeKey(name, key))
}

func (p pki) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key of %s: %w", name, err)
	}
	return writeFile(p.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}
