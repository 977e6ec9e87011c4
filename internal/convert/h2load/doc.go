// Package h2load turns command lines of h2load (nghttp2) into LoadTests. docs/convert.md lists the result of each flag.
package h2load
