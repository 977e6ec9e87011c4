package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// module is a module that is linked into a program.
type module struct {
	path, version string
	// sum is the hash of go.sum, such as h1:...; empty: it is the standard library.
	sum string
	// licences are SPDX identifiers, sorted.
	licences []string
}

// standard is the name of the module of Go's standard library.
const standard = "std"

// modulesOf returns the modules of programs, sorted, each once, with their licences.
func modulesOf(programs []string) ([]module, error) {
	all := map[string]module{}
	for _, p := range programs {
		info, err := buildinfo.ReadFile(p)
		if err != nil {
			return nil, err
		}
		all[standard] = module{path: standard, version: info.GoVersion, licences: []string{"BSD-3-Clause"}}
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			all[d.Path] = module{path: d.Path, version: d.Version, sum: d.Sum}
		}
	}
	dirs, err := dirsOf(all)
	if err != nil {
		return nil, err
	}
	out := make([]module, 0, len(all))
	for path, m := range all {
		if dir := dirs[path]; dir != "" {
			if m.licences, err = licencesIn(dir); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

// dirsOf returns the folders of modules in the module cache.
func dirsOf(all map[string]module) (map[string]string, error) {
	args := []string{"list", "-m", "-json=Path,Dir"}
	for path := range all {
		if path != standard {
			args = append(args, path)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	out := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out[m.Path] = m.Dir
	}
}
