// Package release tests what a release consists of: the archive for networks without internet, the chart in a registry,
// and the actions for GitHub. Its tests have the build tag release: "make release-test" builds the files.
package release
