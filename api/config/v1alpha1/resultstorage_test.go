package v1alpha1

import (
	"strings"
	"testing"
	"time"
)

func TestResultStorage(t *testing.T) {
	for _, tt := range []struct {
		name, storage string
		want          string // an error; empty: the folder of the run
		folder        string
	}{
		{"defaults", "endpoint: https://s3.test, bucket: results", "", "team/smoke/1-2-3"},
		{"a path", "endpoint: http://s3.test:9000, bucket: results, path: \"a/${namespace}/${name}-${startTime}\"", "", "a/team/smoke-20261123T060708Z"},
		{"the name alone in an element", "endpoint: https://s3.test, bucket: results, path: \"${namespace}-${name}/${name}/${startTime}\"", "", "team-smoke/smoke/20261123T060708Z"},
		{"two names that are joined", "endpoint: https://s3.test, bucket: results, path: \"a/${namespace}-${name}/${startTime}\"", "two runs need different paths", ""},
		{"joined with a dot", "endpoint: https://s3.test, bucket: results, path: \"${namespace}.${name}/${startTime}\"", "", "team.smoke/20261123T060708Z"},
		{"joined with the time", "endpoint: https://s3.test, bucket: results, path: \"${name}-${startTime}-${namespace}\"", "", "smoke-20261123T060708Z-team"},
		{"joined with the UID", "endpoint: https://s3.test, bucket: results, path: \"${namespace}-${name}/${uid}\"", "", "team-smoke/1-2-3"},
		{"no endpoint", "bucket: results", "resultStorage.endpoint", ""},
		{"an endpoint with a path", "endpoint: https://s3.test/results, bucket: results", "without a path", ""},
		{"an endpoint with credentials", "endpoint: https://a:b@s3.test, bucket: results", "resultStorage.endpoint", ""},
		{"another scheme", "endpoint: s3://s3.test, bucket: results", "scheme https or http", ""},
		{"no bucket", "endpoint: https://s3.test", "resultStorage.bucket", ""},
		{"a bucket in upper case", "endpoint: https://s3.test, bucket: Results", "resultStorage.bucket", ""},
		{"an unknown placeholder", "endpoint: https://s3.test, bucket: results, path: \"${uid}/${who}\"", `supported values: "${namespace}"`, ""},
		{"two runs on one path", "endpoint: https://s3.test, bucket: results, path: \"${namespace}/${name}\"", "two runs need different paths", ""},
		{"above the bucket", "endpoint: https://s3.test, bucket: results, path: \"../${uid}\"", "must not begin or end with /", ""},
		{"a leading slash", "endpoint: https://s3.test, bucket: results, path: \"/${uid}\"", "must not begin or end with /", ""},
		{"a space", "endpoint: https://s3.test, bucket: results, path: \"a b/${uid}\"", "must have only letters", ""},
		{"a placeholder that does not end", "endpoint: https://s3.test, bucket: results, path: \"${uid}/${name\"", "must have only letters", ""},
		{"a short timeout", "endpoint: https://s3.test, bucket: results, timeout: 1ms", "resultStorage.timeout", ""},
		{"a short deadline", "endpoint: https://s3.test, bucket: results, deadline: 1ms", "resultStorage.deadline", ""},
		{"a field that does not exist", "endpoint: https://s3.test, bucket: results, secretKey: abc", "secretKey", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := Load([]byte(head+"resultStorage: {"+tt.storage+"}\n"), env)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			run := ResultRun{Namespace: "team", Name: "smoke", UID: "1-2-3", Start: time.Date(2026, 11, 23, 6, 7, 8, 9, time.UTC)}
			if got := cfg.ResultStorage.Folder(run); got != tt.folder {
				t.Errorf("folder %s, want %s", got, tt.folder)
			}
		})
	}
	if cfg, err := Load([]byte(head), env); err != nil || cfg.ResultStorage != nil {
		t.Errorf("by default: %v, error %v; want no storage", cfg.ResultStorage, err)
	}
}
