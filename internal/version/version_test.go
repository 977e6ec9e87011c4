package version

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrom(t *testing.T) {
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123abcd"}
	tests := []struct {
		name            string
		version, commit string
		build           *debug.BuildInfo
		want            Info
		text            string
	}{
		{"nothing known", "", "", nil, Info{Version: "devel"}, "devel"},
		{"linked", "v1.2.3", "beef", build("v0.0.1", revision), Info{"v1.2.3", "beef", "go1.26.0"}, "v1.2.3 (beef, go1.26.0)"},
		{"installed by go install", "", "", build("v1.2.0"), Info{"v1.2.0", "", "go1.26.0"}, "v1.2.0 (go1.26.0)"},
		{"built in a checkout", "", "", build("(devel)", revision), Info{"devel", "0123abcd", "go1.26.0"}, "devel (0123abcd, go1.26.0)"},
		{
			"built in a changed checkout", "", "", build("", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
			Info{"devel", "0123abcd-dirty", "go1.26.0"}, "devel (0123abcd-dirty, go1.26.0)",
		},
		{"changed, but no revision", "", "", build("", debug.BuildSetting{Key: "vcs.modified", Value: "true"}), Info{"devel", "", "go1.26.0"}, "devel (go1.26.0)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := from(tt.version, tt.commit, tt.build)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.String() != tt.text {
				t.Errorf("String() = %q, want %q", got.String(), tt.text)
			}
		})
	}
	if Get().Go == "" {
		t.Error("the toolchain of this binary is not known")
	}
}
