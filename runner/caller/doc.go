// Package caller checks the peers of a listener: the names in their client certificates, and their access tokens, which
// are JSON Web Tokens (RFC 7519).
package caller
