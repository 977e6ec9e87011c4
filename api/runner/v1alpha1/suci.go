package v1alpha1

import (
	"crypto/ecdh"
	"crypto/elliptic"
	"encoding/hex"
	"errors"
)

// SUCI is how SUCIs are made (TS 33.501 C.3).
type SUCI struct {
	// RoutingIndicator has 1 to 4 digits; empty: 0.
	RoutingIndicator string `json:"routingIndicator,omitempty"`
	// PublicKey of the home network, in hexadecimal digits: 64 for profile A, 66 or 130 for profile B. Empty: the null
	// scheme.
	PublicKey string `json:"publicKey,omitempty"`
	// KeyID is the home network public key identifier, 1 to 255; zero: 1.
	KeyID int `json:"keyID,omitempty"`
}

var errPublicKey = errors.New(
	"must be a key of X25519 with 64 hexadecimal digits (profile A), or a point of P-256 with 66 or 130 (profile B)")

// Key returns the public key of the home network. It must be set.
func (s *SUCI) Key() (*ecdh.PublicKey, error) {
	const a, compressed = 32, 33
	raw, err := hex.DecodeString(s.PublicKey)
	if err != nil {
		return nil, InField("suci.publicKey", errPublicKey)
	}
	curve := ecdh.P256()
	switch len(raw) {
	case a:
		curve = ecdh.X25519()
	case compressed:
		x, y := elliptic.UnmarshalCompressed(elliptic.P256(), raw)
		if x == nil {
			return nil, InField("suci.publicKey", errPublicKey)
		}
		raw = append([]byte{4}, append(x.FillBytes(make([]byte, a)), y.FillBytes(make([]byte, a))...)...)
	}
	key, err := curve.NewPublicKey(raw)
	if err != nil {
		return nil, InField("suci.publicKey", errPublicKey)
	}
	return key, nil
}

// Scheme returns the protection scheme identifier (TS 23.003 2.2B): 0 for null, 1 for profile A, 2 for profile B.
func (s *SUCI) Scheme() int {
	switch {
	case s == nil || s.PublicKey == "":
		return 0
	case len(s.PublicKey) == 64:
		return 1
	}
	return 2
}

func (s *SUCI) check() error {
	switch {
	case s == nil:
		return nil
	case s.RoutingIndicator != "" && (len(s.RoutingIndicator) > 4 || !decimal(s.RoutingIndicator)):
		return invalid("suci.routingIndicator", "must have 1 to 4 digits")
	case s.KeyID < 0 || s.KeyID > 255:
		return invalid("suci.keyID", "must be from 1 to 255")
	case s.PublicKey == "":
		return nil
	}
	_, err := s.Key()
	return err
}
