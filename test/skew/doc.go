// Package skew runs operators and runners of different commits together. Its test has the build tag skew, because it
// needs binaries of another commit: hack/skew.sh builds them.
package skew
