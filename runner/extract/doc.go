// Package extract extracts values from exchanges, for captures and checks: see SourceKind in
// api/runner/v1alpha1. It also validates JSON bodies, and returns the cause of problem details.
//
// Several goroutines may use the results of New and NewSchema at the same time.
package extract
