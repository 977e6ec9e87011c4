// Package chart renders charts/h2surge with the pinned Helm and holds the result against golden
// files, config/ and the code. "make chart-test" builds Helm and runs it; without bin/tools/helm
// the tests are skipped.
package chart
