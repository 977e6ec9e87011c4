// Package har turns HTTP archives (HAR 1.2), as browsers save them, into LoadTests. docs/convert.md
// says what becomes of each field.
package har
