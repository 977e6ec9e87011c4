package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	// caLifetime is how long an install CA is valid. A new CA replaces it caRenewal before its end; until then
	// both are trusted, so that runners that know only the old CA continue.
	caLifetime = 2 * caRenewal
	// caRenewal is also the shortest life of a runner's certificate, which ends with its CA. A runner gets
	// its certificate once, so caRenewal must be longer than any run: a plan has at most 256 stages of 30 days,
	// which is 21 years. The rest is for pauses and for spec.runner.resultRetention.
	caRenewal = 25 * 365 * 24 * time.Hour
	// operatorLifetime is short, because the operator makes its certificates in memory and renews them itself.
	operatorLifetime = 24 * time.Hour
	// backdate tolerates clocks of other nodes that are behind.
	backdate = 10 * time.Minute

	domain = "h2surge.io"
)

// ca is a certificate that signs, with its key.
type ca struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newCA(now time.Time) (*ca, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// The serial makes the name unique: a runner tells its client by name which CAs it
		// trusts, and the client chooses its certificate by that.
		Subject:                     pkix.Name{CommonName: fmt.Sprintf("h2surge install CA %x", serial)},
		NotBefore:                   now.Add(-backdate),
		NotAfter:                    now.Add(caLifetime),
		KeyUsage:                    x509.KeyUsageCertSign,
		BasicConstraintsValid:       true,
		IsCA:                        true,
		MaxPathLenZero:              true,
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{domain},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of the install CA: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the install CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing the install CA: %w", err)
	}
	return &ca{cert: cert, key: key}, nil
}

// issue signs a leaf for names and one usage, which is valid until the instant until.
func (c *ca) issue(usage x509.ExtKeyUsage, now, until time.Time, names ...string) (certPEM, keyPEM []byte, err error) {
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    now.Add(-backdate),
		NotAfter:     until,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{usage},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key for %s: %w", names[0], err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing the certificate of %s: %w", names[0], err)
	}
	keyPEM, err = encodeKey(key)
	return encodeCert(der), keyPEM, err
}

func newSerial() (*big.Int, error) {
	// RFC 5280 4.1.2.2: positive, at most 20 octets.
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generating a serial number: %w", err)
	}
	return serial.Add(serial, big.NewInt(1)), nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func decodeCA(certPEM, keyPEM []byte) (*ca, error) {
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, errors.New("found no PEM block")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok || !signer.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("the key does not belong to the certificate")
	}
	if !cert.IsCA {
		return nil, errors.New("the certificate is not a CA certificate")
	}
	return &ca{cert: cert, key: signer}, nil
}
