// Package skew runs operators and runners of different commits together, and those of this commit as a random user. Its
// test has the build tag skew, because it needs binaries of another commit: hack/skew.sh builds them.
package skew
