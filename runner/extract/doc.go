// Package extract takes values out of exchanges, for captures and checks: see SourceKind in
// api/runner/v1alpha1. It also validates JSON bodies, and tells the cause that problem details have.
//
// Everything made by New and NewSchema may be used by several goroutines at the same time.
package extract
