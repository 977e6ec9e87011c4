package cli

// The image is made from scratch and has no certificates to trust; these are used where the
// system has none.
import _ "golang.org/x/crypto/x509roots/fallback"
