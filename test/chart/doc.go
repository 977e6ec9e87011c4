// Package chart renders charts/h2surge with the pinned Helm and holds the result against golden
// files, config/ and the code; and it installs, upgrades and removes the chart on an API server
// without nodes, on which the operator then works with the rights it got. "make chart-test" builds
// Helm and runs all of it; what is not there (bin/tools/helm, KUBEBUILDER_ASSETS) skips its tests.
package chart
