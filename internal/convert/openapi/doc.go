// Package openapi turns descriptions of OpenAPI 3.0 and 3.1 into LoadTests: a request for each
// operation, with a body made of examples or of the schema. docs/reference/convert.md says how.
package openapi
