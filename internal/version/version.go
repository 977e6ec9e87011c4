// Package version says which h2surge this is.
package version

import (
	"runtime/debug"
	"sync"
)

// Version and Commit are set when a release is built:
//
//	-ldflags "-X github.com/h2surge/h2surge/internal/version.Version=v1.2.3"
//
// Read them by Get, which knows what the Go toolchain recorded when they are not set.
var (
	Version string
	Commit  string
)

// Info is a version of h2surge.
type Info struct {
	// Version is "v1.2.3", or "devel" when nothing is known.
	Version string
	// Commit is the git revision, with "-dirty" when the tree had changes; empty: not known.
	Commit string
	// Go is the toolchain's version.
	Go string
}

// Get returns the version of this binary.
func Get() Info { return info() }

var info = sync.OnceValue(func() Info {
	build, _ := debug.ReadBuildInfo()
	return from(Version, Commit, build)
})

// from prefers what the linker set; build may be nil.
func from(version, commit string, build *debug.BuildInfo) Info {
	out := Info{Version: version, Commit: commit}
	if build != nil {
		out.Go = build.GoVersion
		if out.Version == "" && build.Main.Version != "(devel)" {
			out.Version = build.Main.Version
		}
		if out.Commit == "" {
			out.Commit = revision(build.Settings)
		}
	}
	if out.Version == "" {
		out.Version = "devel"
	}
	return out
}

func revision(settings []debug.BuildSetting) string {
	var commit, suffix string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + suffix
}

// String is "v1.2.3 (0123abcd, go1.26.0)".
func (i Info) String() string {
	detail := i.Go
	if i.Commit != "" {
		detail = i.Commit + ", " + i.Go
	}
	if detail == "" {
		return i.Version
	}
	return i.Version + " (" + detail + ")"
}
