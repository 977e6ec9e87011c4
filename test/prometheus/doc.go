// Package prometheus holds metrics, dashboards and alerts against a real Prometheus that scrapes a real run. Its tests
// have the build tag prometheus; "make prometheus-test" installs what they need and runs them.
package prometheus
