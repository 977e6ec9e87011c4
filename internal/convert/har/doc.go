// Package har turns HTTP archives (HAR 1.2), as browsers save them, into LoadTests. docs/reference/convert.md lists the
// result of each field.
package har
